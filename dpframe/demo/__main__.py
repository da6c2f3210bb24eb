from dpframe.demo.release import main

main()
