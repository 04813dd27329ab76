import { decodeReferences } from './character-references.ts'

/**
 * Addresses within a text: with a scheme or the slashes after it, or as people write them. A scheme's length is limited
 * so that the search takes linear time.
 */
const addressPattern = /(?:\b[a-z][a-z\d+.-]{0,30}:)?\/\/[^\s<>"'()[\]{}]+|\bwww\.[^\s<>"'()[\]{}]+/gi

/** A word that is a domain or an IP address, perhaps with a path: `bank.example/login`. */
const domainPattern =
  /^(?:[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*\.(?:\p{L}{2,}|xn--[a-z\d-]+)|\d{1,3}(?:\.\d{1,3}){3})(?::\d+)?(?:[/?#]\S*)?$/u

const mailPattern = /^[^\s@/]+@[^\s@/]+\.[^\s@/]+$/

/** The longest mail address, in characters: RFC 5321. */
const longestMail = 320

/** Invisible, zero width. After the colon of an address, no platform makes it a link. */
const joiner = '\u2060'

/** Names like `index.ts` are files, not domains. None of these is a top-level domain. */
const filePattern =
  /^[^/]*\.(?:[cm]?[jt]sx?|jsonc?|css|s[ac]ss|html?|xml|ya?ml|toml|lock|txt|csv|cpp|hpp|kts?|swift|sql|vue|svelte|log|env|svg|png|jpe?g|gif|pdf)$/i

/** Returns the address of a link or a picture, with its character references decoded. */
export function addressOf({ href }: { readonly href: string }): string {
  return href.includes('&') ? decodeReferences(href) : href
}

/**
 * Whether an address may become a link. False for addresses that act in an app, run a script or name a file, that
 * contain invisible characters, or that have a name before their host, because `https://bank.example@evil.example`
 * looks like another host.
 */
export function isOpenable(href: string): boolean {
  return /^(?:https?:\/\/(?![^/?#]*@)|mailto:)\S+$/i.test(href) && !/\p{C}/u.test(href)
}

/** Returns an address as text that no platform turns into a link. */
export function asUnlinkedText(href: string): string {
  return href.replace(/:(?=\/\/)/g, `:${joiner}`)
}

/** Whether a link's text names another host or mailbox than the address that it opens. */
export function isMisleading(text: string, href: string): boolean {
  if (!mayMislead(text, href)) return false
  const shown = text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .trim()
  if (shown.length <= longestMail && mailPattern.test(shown))
    return shown.toLowerCase() !== href.replace(/^mailto:/i, '').toLowerCase()
  const words = shown.split(/[\s"'()<>[\]{}]+/).map((word) => word.replace(/^\p{P}+|(?<![.,;:!?])[.,;:!?]+$/gu, ''))
  const named = [
    ...(shown.match(addressPattern) ?? []),
    ...words.filter((word) => domainPattern.test(word) && !filePattern.test(word)),
  ]
  const target = hostOf(href)
  return named.some((address) => hostOf(address) !== target)
}

/** A quick check before `isMisleading`. False for most texts. Also works on Markdown that isn't decoded yet. */
export function mayMislead(text: string, href: string): boolean {
  return text !== href && /[^\w\s-]/.test(text)
}

/** Returns the host of an address in lower case, without `www.`. The address itself if it has none. */
function hostOf(address: string): string {
  const hasScheme = /^[a-z][a-z\d+.-]*:/i.test(address) && !/^[^/]+:\d/.test(address)
  const whole = hasScheme ? address : `http://${address.replace(/^\/\//, '')}`
  if (!URL.canParse(whole)) return address
  const { host } = new URL(whole)
  return host === '' ? address : host.replace(/^www\./, '')
}
