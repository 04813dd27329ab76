/** Ends of names whose values are secrets in any text, as sources of regular expressions that ignore case. */
export const secretNames: readonly string[] = [
  ...['api', 'access', 'account', 'secret', 'signing', 'encryption', 'subscription', 'role'].map(
    (kind) => `${kind}[-_]?key`,
  ),
  ...['password', 'passwd', 'passphrase', 'secret', 'token'],
]

/** In headers and fields, the values of these names are secrets, too. */
export const secretFieldNames: readonly string[] = [...secretNames, 'authorization', 'cookie']

const field = new RegExp(`(?:${secretFieldNames.join('|')})$`, 'i')

/** Environment variables have further ends: `OPENAI_KEY`, `DB_PASS`, `GITHUB_PAT`. `PWD` alone is the folder. */
export const variableEnds: readonly string[] = ['key', 'pass', 'pwd', 'pat', 'auth', 'credentials?']
const variable = new RegExp(`_(?:${variableEnds.join('|')})$`, 'i')

/**
 * Whether the value of a field of this name is a secret. A name in capitals counts as an environment variable's, which
 * has further ends.
 */
export function isSecretField(name: string): boolean {
  return field.test(name) || (variable.test(name) && name === name.toUpperCase())
}

/** Whether the value of an environment variable of this name is a secret. */
export function isSecretVariable(name: string): boolean {
  return isSecretField(name) || variable.test(name)
}
