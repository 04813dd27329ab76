/** Every token begins with it, so that a channel can tell the sink's buttons from the host's own. */
const mark = 'r~'

/** The tokens of earlier versions, without the mark. Asks that are still pending in ledgers have them. */
const unmarked = /^[\w-]{16}\.(?:\d+\.(?:\d+|[df])|once|always|reject)$/

/** Characters of a secret, without the mark. */
const secretLength = 16

/** A new secret of an ask, with which its tokens begin. */
export function askSecret(secret: (length: number) => string): string {
  return `${mark}${secret(secretLength)}`
}

/** Whether a button's data is the token of an ask. All other data belongs to the host. */
export function isAskToken(data: string): boolean {
  return data.startsWith(mark) || unmarked.test(data)
}
