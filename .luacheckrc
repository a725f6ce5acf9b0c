std = 'lua51'
globals = {}
read_globals = { 'redis', 'cjson', 'cmsgpack', 'struct', 'KEYS', 'ARGV' }
max_line_length = 120
