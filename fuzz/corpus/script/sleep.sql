\sleep 10
\sleep -3 s
\sleep 10ms
\sleep +5 us
\sleep 9223372036854775807
