std = 'lua51'
globals = {}
read_globals = { 'redis', 'cjson', 'KEYS', 'ARGV' }
max_line_length = 120
