import { ConsoleError } from './error.ts'

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

/** `90`, `90s`, `5m`, `1h`, `500ms`; a bare number is seconds. */
export function parseDuration(text: string): number {
  const [, value = '', unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text.trim()) ?? []
  const ms = value === '' ? 0 : Number(value) * (isUnit(unit) ? UNITS[unit] : 0)
  if (ms > 0 && ms < 2 ** 31) return ms
  throw new ConsoleError('usage', `"${text}" is not a duration: give one like 90s, 5m or 1h.`)
}

/** A factor above 0. */
export function parseSpeed(text: string): number {
  const factor = Number(text.trim().replace(/x$/, ''))
  if (Number.isFinite(factor) && factor > 0) return factor
  throw new ConsoleError(
    'usage',
    `"${text}" is not a speed: give a factor like 1 (the recorded pace) or 10 (ten times faster).`,
  )
}

/** `provider/model`; the model's name may contain slashes. */
export function parseModel(text: string): { providerID: string; modelID: string } {
  const slash = text.indexOf('/')
  if (slash > 0 && slash < text.length - 1) return { providerID: text.slice(0, slash), modelID: text.slice(slash + 1) }
  throw new ConsoleError('usage', `"${text}" is not a model: give provider/model, as \`opencode models\` lists them.`)
}

function isUnit(unit: string): unit is keyof typeof UNITS {
  return unit in UNITS
}

/** The name of a bridge, which is that of its folder. */
export function parseName(text: string): string {
  if (/^[A-Za-z\d][\w.-]*$/.test(text)) return text
  throw new ConsoleError('usage', `"${text}" is not a name: use letters, digits, ".", "-" and "_".`)
}

/** `9464` on this computer alone, or `0.0.0.0:9464`, `[::]:9464`. */
export function parseListen(text: string): { host: string; port: number } {
  const [, host = '127.0.0.1', digits = ''] = /^(?:(\[[\da-f:.]+\]|[\w.-]+):)?(\d{1,5})$/i.exec(text.trim()) ?? []
  const port = Number(digits)
  if (digits !== '' && port < 65_536) return { host: host.replace(/^\[|\]$/g, ''), port }
  throw new ConsoleError('usage', `"${text}" is not an address: give a port like 9464, or host:port.`)
}
