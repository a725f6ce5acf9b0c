std = 'lua51'
globals = {}
read_globals = { 'redis', 'cjson', 'cmsgpack', 'KEYS', 'ARGV' }
max_line_length = 120
