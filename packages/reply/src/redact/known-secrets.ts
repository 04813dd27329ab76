import { isFields } from '../fields.ts'
import { hideValues } from './hide-values.ts'
import { createRedactor } from './redactor.ts'
import { isSecretField, isSecretVariable } from './secret-name.ts'

/** How a program was started. */
export interface ProgramInput {
  /** Its arguments. Default: none. */
  readonly args?: readonly string[] | undefined
  /** Its environment, or what was added to it. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

/** The shortest value that counts as a secret: `1` and `yes` are none. */
const shortest = 4
/** Longer words that are settings. */
const settings: ReadonlySet<string> = new Set(['true', 'false', 'none', 'null', 'bearer', 'basic'])
/** Doesn't search deeper values of an argument that is JSON. */
const maxDepth = 32

/**
 * The values of what is named like a secret: variables, options (`--api-key x`, `--token=x`), settings (`a.token="x"`),
 * headers and fields of JSON. Each line of a value is one of its own, as only some lines of a text may be shown.
 */
export function secretsIn({ args = [], env = {} }: ProgramInput): readonly string[] {
  const fromEnv = Object.entries(env).flatMap(([name, value = '']) => (isSecretVariable(name) ? [value] : []))
  const fromArgs = args.flatMap((arg, at) => [...valuesIn(arg), ...(isSecretOption(args[at - 1]) ? [arg] : [])])
  return [...fromEnv, ...fromArgs]
    .flatMap((value) => value.split('\n').flatMap((line) => [line.trim(), unquoted(line.trim())]))
    .filter((value) => value.length >= shortest && !settings.has(value.toLowerCase()))
}

/** A function that removes these values, and what looks like a secret, from a whole text. */
export function createSecretFilter(input: ProgramInput): (text: string) => string {
  const secrets = secretsIn(input)
  return (text) => {
    const values = hideValues(secrets)
    const redactor = createRedactor()
    return redactor.push(values.push(text) + values.end()) + redactor.end()
  }
}

/** Whether the next argument is its value. */
function isSecretOption(arg = ''): boolean {
  return /^--?[\w-]+$/.test(arg) && isSecretName(arg)
}

/** The secrets in one argument. */
function valuesIn(arg: string): readonly string[] {
  const [, name = '', value = ''] = /^([\w.-]+)=(.*)$/s.exec(arg) ?? /^([\w-]+):\s*(.*)$/s.exec(arg) ?? []
  if (isSecretName(name)) return [value, ...credentialsIn(value)]
  return fieldsIn(value === '' ? arg : value)
}

/** `Bearer x`, `Basic x` */
function credentialsIn(value: string): readonly string[] {
  const [, credentials] = /^(?:bearer|basic)\s+(\S.*)$/i.exec(value) ?? []
  return credentials === undefined ? [] : [credentials]
}

/** Options join words with `-`, and settings begin with the names of their tables. */
function isSecretName(name: string): boolean {
  return isSecretVariable(`_${name.replace(/^-+/, '').replace(/^.*\./, '')}`.replaceAll('-', '_'))
}

function fieldsIn(text: string): readonly string[] {
  if (!/^\s*[[{]/.test(text)) return []
  try {
    return secretFields(JSON.parse(text), 0)
  } catch {
    return []
  }
}

function secretFields(value: unknown, depth: number): readonly string[] {
  if (depth > maxDepth) return []
  if (Array.isArray(value)) return value.flatMap((item) => secretFields(item, depth + 1))
  if (!isFields(value)) return []
  return Object.entries(value).flatMap(([name, item]) => {
    if (typeof item !== 'string') return secretFields(item, depth + 1)
    return isSecretField(name) || isSecretVariable(name) ? [item, ...credentialsIn(item)] : []
  })
}

function unquoted(value: string): string {
  return /^(["']).*\1$/.test(value) ? value.slice(1, -1) : value
}
