std = 'lua51'
globals = {}
read_globals = { 'redis', 'KEYS', 'ARGV' }
max_line_length = 120
