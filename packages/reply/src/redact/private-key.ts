import { lengthOf, type Span, type Swallow, secretMark, type Verdict } from './run.ts'

/** The rest of a first line, after `-----BEGIN `. RFC 7468; OpenPGP adds "BLOCK". */
const label = /[A-Z0-9 ]{0,64}/y
const dashes = /-{0,5}/y

/** The longest text between two runs of a key: line ends, also as `\n`, quotes, gutters, headers. */
const longestGap = 512
/** Longer than a gap plus the longest sign after it. */
const sight = longestGap + 128

const base64 = /[\w+/=]*/y
const signs = new RegExp(
  [
    // Base64 longer than words are: lines of keys have 64 to 76 characters. Or the first characters of PKCS and OpenSSH
    // keys.
    '(?<material>[A-Za-z0-9+/=]{24}|(?:MI[IG]|MC4|MHc|b3BlbnNza)[A-Za-z0-9+/=]{8})',
    '(?<last>-----END [A-Z0-9 ]{0,64}-----)',
    // Three short words in a row. Includes the next character, so that more text never changes the match.
    "(?<prose>(?<![A-Za-z0-9+/=])[A-Za-z][a-z']{0,14},? [a-z][a-z']{0,14},? [a-z][a-z']{0,14}(?=[^A-Za-z0-9+/='-]))",
  ].join('|'),
  'g',
)
/** A line such as "Comment: made for the build server" belongs to the key. */
const header = /^[^A-Za-z\n]*[A-Za-z][A-Za-z-]{0,30}: /
/** A key that was cut soon after its first line. */
const begun = /^[\s\\nr"'`|:>+\d]*(?:M[A-Z]|b3B)/

/**
 * Matches a private key of any length, from its first line to its last; without a last line, up to where the text no
 * longer looks like a key. A lone first line, as in a text about keys, is not a secret.
 */
export function readPrivateKey(text: string, { from, at, isEnd }: Span): Verdict {
  const afterLabel = at + lengthOf(label, text, at)
  const start = afterLabel + lengthOf(dashes, text, afterLabel)
  if (start === text.length && start - afterLabel < 5) return isEnd ? { type: 'no' } : { type: 'growing', from }
  if (start - afterLabel < 5 || !text.slice(at, afterLabel).includes('PRIVATE KEY')) return { type: 'no' }
  const sign = nextSign(text, start)
  const isNear = sign !== undefined && sign.at - start <= longestGap
  if (isNear && sign.type === 'prose') return { type: 'no' }
  if (isNear) return { type: 'secret', from, end: start, mark: secretMark, swallow: swallowKey() }
  if (sign || text.length - start > sight) return { type: 'no' }
  if (!isEnd) return { type: 'growing', from }
  return begun.test(text.slice(start)) ? { type: 'secret', from, end: text.length, mark: secretMark } : { type: 'no' }
}

function swallowKey(): Swallow {
  /** Whether the preceding text is a run of base64 that may continue. */
  let isInRun = false
  return (text, at, isEnd) => {
    let end = at
    for (;;) {
      if (isInRun) end += lengthOf(base64, text, end)
      if (end === text.length) return { end, isOver: isEnd }
      isInRun = false
      const sign = nextSign(text, end)
      const isFar = sign ? sign.at - end > longestGap : text.length - end > sight
      if (isFar) return { end, isOver: true }
      // Without a sign before the end of the text, the key was cut in its last line.
      if (!sign) return isEnd ? { end: text.length, isOver: true } : { end, isOver: false }
      if (sign.type === 'last') return { end: sign.end, isOver: true }
      if (sign.type === 'prose') return { end: sign.at, isOver: true }
      end = sign.end
      isInRun = true
    }
  }
}

interface Sign {
  readonly type: 'material' | 'last' | 'prose'
  readonly at: number
  readonly end: number
}

/** The first sign that decides whether the key continues. */
function nextSign(text: string, start: number): Sign | undefined {
  const window = text.slice(start, start + sight)
  signs.lastIndex = 0
  for (let found = signs.exec(window); found; found = signs.exec(window)) {
    const [at, end] = [start + found.index, start + found.index + found[0].length]
    if (found.groups?.material !== undefined) return { type: 'material', at, end }
    if (found.groups?.last !== undefined) return { type: 'last', at, end }
    const line = window.slice(window.lastIndexOf('\n', found.index) + 1, found.index)
    if (!header.test(line)) return { type: 'prose', at, end }
  }
  return undefined
}
