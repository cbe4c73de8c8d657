\shell echo ::x :scale
\setshell v echo 1
\sleep :scale us
