import { adviceFor, type OptionHints } from '../../core/option-hints.js';
import { rejectUnsetWords } from './check-unset-variables.js';
import { checkTypes } from './option-types.js';
import { isSet, type OptionValues, rejectUnknown } from './option-values.js';

/** The properties of a sentinel in the option `sentinels`. */
const SENTINEL_NAMES = new Set(['host', 'port', 'family']);
/** Options that only sentinels give a meaning. */
const FOR_SENTINELS = ['sentinelUsername', 'sentinelPassword', 'sentinelTLS'];
/** Where the options of the connection to a sentinel belong. */
const OF_SENTINELS: OptionHints = {
  username: { advice: 'use sentinelUsername next to sentinels' },
  password: { advice: 'use sentinelPassword next to sentinels' },
  tls: { advice: 'use sentinelTLS next to sentinels' },
};

/** Checks the options of the connection to a server: those that ioredis would ignore, or misread, or that exclude each other. */
export function checkConnection(options: OptionValues, prefix = ''): void {
  checkTypes(options, prefix);
  rejectUnsetWords(options, prefix);
  if (options['monitor'] === true)
    throw new TypeError(`${prefix}monitor: a connection in MONITOR mode cannot count; remove it`);
  if (options['replyMapping'] === 'resp3' && options['protocol'] === 2)
    throw new TypeError(`${prefix}replyMapping: 'resp3' needs protocol: 3; remove one of the two`);
  if (isSet(options['sentinels'])) checkWithSentinels(options);
  else checkWithoutSentinels(options, prefix);
}

function checkWithSentinels({ sentinels, tls, enableTLSForSentinelMode }: OptionValues): void {
  for (const [i, sentinel] of (sentinels as object[]).entries())
    rejectUnknown(sentinel, SENTINEL_NAMES, hintForSentinel, { prefix: `sentinels[${i}].` });
  if (isOn(tls) && enableTLSForSentinelMode !== true)
    throw new TypeError(
      'tls: is not used for the servers that sentinels name; set enableTLSForSentinelMode: true too, and sentinelTLS for the sentinels themselves',
    );
  if (!isOn(tls) && enableTLSForSentinelMode === true)
    throw new TypeError('enableTLSForSentinelMode: has no effect without tls; set tls: {} too');
}

function hintForSentinel(name: string): string | undefined {
  return adviceFor(name, {}, SENTINEL_NAMES, OF_SENTINELS)?.text;
}

function checkWithoutSentinels(options: OptionValues, prefix: string): void {
  for (const name of FOR_SENTINELS)
    if (isOn(options[name]))
      throw new TypeError(`${prefix}${name}: has no effect without sentinels; list them, or remove it`);
  if (options['enableTLSForSentinelMode'] === true)
    throw new TypeError(`${prefix}enableTLSForSentinelMode: has no effect without sentinels; set tls: {}`);
  if (options['role'] === 'slave')
    throw new TypeError(
      `${prefix}role: 'slave' is for sentinels, and counters are only written to the primary; remove it`,
    );
  if (isSet(options['natMap']))
    throw new TypeError(
      'natMap: has no effect on a single server; set host and port to the address that this process can reach',
    );
}

/** Whether an option is given that turns something on. ioredis ignores empty strings. */
function isOn(value: unknown): boolean {
  return isSet(value) && value !== false && value !== '';
}
