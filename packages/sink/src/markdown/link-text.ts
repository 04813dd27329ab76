/** Addresses within a text: with a scheme, or as people write them. */
const ADDRESSES = /\b[a-z][a-z\d+.-]*:\/\/[^\s<>"'()[\]{}]+|\bwww\.[^\s<>"'()[\]{}]+/gi

/** A text that is only a domain, perhaps with a path: `bank.example/login`. */
const DOMAIN = /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?::\d+)?(?:[/?#]\S*)?$/u

const MAIL = /^[^\s@/]+@[^\s@/]+\.[^\s@/]+$/

/** Names like `index.ts` are files, not domains. None of these is a top-level domain. */
const FILE =
  /^[^/]*\.(?:[cm]?[jt]sx?|jsonc?|css|s[ac]ss|html?|xml|ya?ml|toml|lock|txt|csv|cpp|hpp|kts?|swift|sql|vue|svelte|log|env|svg|png|jpe?g|gif|pdf)$/i

/** Whether an address may become a link. Others act in an app, run a script or name a file. */
export function isOpenable(href: string): boolean {
  return /^(?:https?:\/\/|mailto:)\S+$/i.test(href)
}

/**
 * Whether a link's text names another address than the one that it opens, so that a person would believe to go
 * elsewhere: another host, or another mailbox.
 */
export function isMisleading(text: string, href: string): boolean {
  if (!/[.:@/]/.test(text)) return false
  const shown = text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .trim()
  if (MAIL.test(shown)) return shown.toLowerCase() !== href.replace(/^mailto:/i, '').toLowerCase()
  const named = shown.match(ADDRESSES) ?? (DOMAIN.test(shown) && !FILE.test(shown) ? [shown] : [])
  const target = hostOf(href)
  return named.some((address) => hostOf(address) !== target)
}

/** The host of an address in lower case, without `www.`. The address itself if it has none. */
function hostOf(address: string): string {
  const whole = /^[a-z][a-z\d+.-]*:/i.test(address) && !/^[^/]+:\d/.test(address) ? address : `http://${address}`
  if (!URL.canParse(whole)) return address
  const { host } = new URL(whole)
  return host === '' ? address : host.replace(/^www\./, '')
}
