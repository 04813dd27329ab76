/** Ends of names whose values are secrets in any text, as sources of regular expressions that ignore case. */
export const secretNames: readonly string[] = ['api[-_]?key', 'access[-_]?key', 'password', 'passwd', 'secret', 'token']

/** In headers and fields, the values of these are secrets, too. */
export const secretFieldNames: readonly string[] = [...secretNames, 'authorization', 'cookie']

const field = new RegExp(`(?:${secretFieldNames.join('|')})$`, 'i')

/** Environment variables have further ends: `SIGNING_KEY`, `DB_PASS`, `GITHUB_PAT`. `PWD` alone is the folder. */
const variable = /_(?:key|pass|passphrase|pwd|pat|auth|credentials?)$/i

/** Whether the value of a field of this name is a secret. */
export function isSecretField(name: string): boolean {
  return field.test(name)
}

/** Whether the value of an environment variable of this name is a secret. */
export function isSecretVariable(name: string): boolean {
  return isSecretField(name) || variable.test(name)
}
