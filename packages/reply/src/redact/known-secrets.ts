import { isFields } from '../fields.ts'
import { hideValues } from './hide-values.ts'
import { createRedactor } from './redactor.ts'
import { isSecretField, isSecretVariable } from './secret-name.ts'

/** How a program was started. */
export interface ProgramInput {
  /** Its arguments. Default: none. */
  readonly args?: readonly string[] | undefined
  /** Its environment, or only the variables that were added to it. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

/** The shortest value that counts as a secret. Values such as `1` and `yes` don't. */
const shortestSecret = 4
/** Longer values that are settings, not secrets. */
const plainSettings: ReadonlySet<string> = new Set(['true', 'false', 'none', 'null', 'bearer', 'basic'])
/** Doesn't search deeper values of an argument that is JSON. */
const maxDepth = 32

/**
 * Returns the values in a program's arguments and environment that have a secret's name, to hide them: variables,
 * options (`--api-key x`, `--token=x`), settings (`a.token="x"`), headers and fields of JSON. Each line of a value is
 * listed separately, with and without its quotes, because a text may contain only some of them. Leaves out values below
 * four UTF-16 units, and settings such as `true`. A value may be listed twice.
 */
export function secretsIn({ args = [], env = {} }: ProgramInput): readonly string[] {
  const fromEnv = Object.entries(env).flatMap(([name, value = '']) => (isSecretVariable(name) ? [value] : []))
  const fromArgs = args.flatMap((arg, at) => [
    ...secretsInArgument(arg),
    ...(isSecretOption(args[at - 1]) ? [arg] : []),
  ])
  return [...fromEnv, ...fromArgs]
    .flatMap((value) => value.split('\n').flatMap((line) => [line.trim(), withoutQuotes(line.trim())]))
    .filter((value) => value.length >= shortestSecret && !plainSettings.has(value.toLowerCase()))
}

/**
 * Creates a function that removes the values of a program's secrets, and anything that looks like a secret, from a
 * whole text.
 */
export function createSecretFilter(input: ProgramInput): (text: string) => string {
  const secrets = secretsIn(input)
  return (text) => {
    const values = hideValues(secrets)
    const redactor = createRedactor()
    return redactor.push(values.push(text) + values.end()) + redactor.end()
  }
}

/** Whether the argument is an option whose secret value is the next argument. */
function isSecretOption(arg = ''): boolean {
  return /^--?[\w-]+$/.test(arg) && isSecretName(arg)
}

/**
 * The secret values in one argument: `name=value`, `name: value` or JSON, also after a name that doesn't belong to a
 * secret. Empty for any other.
 */
function secretsInArgument(arg: string): readonly string[] {
  const [, name = '', value = ''] = /^([\w.-]+)=(.*)$/s.exec(arg) ?? /^([\w-]+):\s*(.*)$/s.exec(arg) ?? []
  if (isSecretName(name)) return [value, ...credentialsIn(value)]
  return secretsInJson(value === '' ? arg : value)
}

/** The credentials of a header such as `Bearer x` or `Basic x`. Empty for another value. */
function credentialsIn(value: string): readonly string[] {
  const [, credentials] = /^(?:bearer|basic)\s+(\S.*)$/i.exec(value) ?? []
  return credentials === undefined ? [] : [credentials]
}

/** Whether an option (`--api-key`) or a setting (`servers.home.token`) has a secret's name. */
function isSecretName(name: string): boolean {
  return isSecretVariable(`_${name.replace(/^-+/, '').replace(/^.*\./, '')}`.replaceAll('-', '_'))
}

/** The values of secret fields in a JSON object or list. Empty for any other text. */
function secretsInJson(text: string): readonly string[] {
  if (!/^\s*[[{]/.test(text)) return []
  try {
    return valuesOfSecretFields(JSON.parse(text), 0)
  } catch {
    return []
  }
}

/** The texts of secret fields at any depth up to `maxDepth`, and the credentials in them. */
function valuesOfSecretFields(value: unknown, depth: number): readonly string[] {
  if (depth > maxDepth) return []
  if (Array.isArray(value)) return value.flatMap((item) => valuesOfSecretFields(item, depth + 1))
  if (!isFields(value)) return []
  return Object.entries(value).flatMap(([name, item]) => {
    if (typeof item !== 'string') return valuesOfSecretFields(item, depth + 1)
    return isSecretField(name) || isSecretVariable(name) ? [item, ...credentialsIn(item)] : []
  })
}

/** The value without the quotes around it. The same value unless it begins and ends with the same quote. */
function withoutQuotes(value: string): string {
  return /^(["']).*\1$/.test(value) ? value.slice(1, -1) : value
}
