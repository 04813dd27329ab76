import { lengthOf, one, type Run, readRuns, run, type Span, type Swallow, secretMark, type Verdict } from './run.ts'
import { secretNames, variableEnds } from './secret-name.ts'

interface Place {
  /** Where the opener begins. */
  readonly start: number
  /** Where it ends. */
  readonly body: number
  /** Whether this is the end of the text. */
  readonly isEnd: boolean
}

/** The pattern of one kind of secret. */
interface Shape {
  /** The source of a regular expression of at most `reach` UTF-16 units. */
  readonly opener: string
  /** Whether the opener begins a word. */
  readonly isWord?: boolean
  readonly read: (text: string, place: Place) => Verdict
}

/**
 * How tokens begin, and what follows. Based on the vendors' documents and the published rules of gitleaks and GitLab's
 * secret detection. The minimum lengths are below the real ones, to find truncated tokens too.
 */
const tokens: readonly (readonly [starts: readonly string[], charClass: string, least: number])[] = [
  // OpenAI, Anthropic, OpenRouter
  [['sk-'], '[\\w-]', 16],
  // GitHub: docs.github.com, "About authentication to GitHub"
  [['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'], '\\w', 20],
  // GitLab: docs.gitlab.com, "Token overview"
  [
    ['pat', 'dt', 'rt', 'ptt', 'cbt', 'agent', 'oas', 'ft', 'soat', 'imt', 'ffct'].map((kind) => `gl${kind}-`),
    '[\\w.-]',
    16,
  ],
  // Slack: docs.slack.dev, "Tokens". Rotating ones begin with `xoxe.`
  [inBothCases(['a', 'b', 'c', 'd', 'e', 'o', 'p', 'r', 's'].map((kind) => `xox${kind}-`)), '[\\w.-]', 10],
  [inBothCases(['xoxe.', 'xapp-']), '[\\w.-]', 10],
  // Stripe: docs.stripe.com/keys, with those of an organization. The last is a webhook's signing secret.
  [['sk_live_', 'rk_live_', 'sk_test_', 'rk_test_', 'sk_org_'], '\\w', 10],
  [['whsec_'], '[\\w+/=-]', 16],
  // npm: docs.npmjs.com, "About access tokens": 36 characters
  [['npm_'], '[A-Za-z0-9]', 24],
  // Hugging Face: huggingface.co/docs/hub/security-tokens: 34 letters
  [['hf_'], '[A-Za-z0-9]', 20],
  // Meta's access tokens: more than 100 characters. In base64 a sign would soon interrupt such a run.
  [['EAA'], '[A-Za-z0-9]', 32],
  // Groq and xAI have 48 and 80 characters after it: console.groq.com/keys, docs.x.ai
  [['gsk_', 'xai-'], '[A-Za-z0-9]', 20],
  // NVIDIA, Perplexity, Replicate, Tavily
  [['nvapi-', 'pplx-', 'tvly-'], '[\\w-]', 24],
  [['r8_'], '[A-Za-z0-9]', 30],
  // Google: keys, access tokens, refresh tokens, and clients' secrets
  [['AIza'], '[\\w-]', 30],
  [['ya29.'], '[\\w.-]', 20],
  [['1//0'], '[\\w-]', 30],
  [['GOCSPX-'], '[\\w-]', 20],
  // AWS
  [['AKIA', 'ASIA'], '[0-9A-Z]', 16],
  // RFC 9110: a scheme's case doesn't matter
  [['Bearer ', 'bearer ', 'BEARER '], '[\\w.~+/=-]', 16],
]

function inBothCases(starts: readonly string[]): readonly string[] {
  return [...starts, ...starts.map((start) => start.toUpperCase())]
}

const tokenRuns = new Map(
  tokens.flatMap(([starts, charClass, least]) => starts.map((start) => [start, [run(charClass, least)]] as const)),
)
const tokenStarts = [...tokenRuns.keys()]

const drives = Array.from({ length: 26 }, (_, at) => `${String.fromCharCode(65 + at)}:\\`)

/** The openers that a text may end with in part. These begin words, … */
export const wordStarts: readonly string[] = [...tokenStarts, 'eyJ', 'SG.', 'Basic ', 'basic ', 'BASIC ']
/** … and these begin anywhere. */
export const otherStarts: readonly string[] = [
  ...['-----BEGIN ', '/home/', '/Users/', '/root'],
  ...drives.flatMap((drive) => [`${drive}Users\\`, `${drive}\\Users\\`]),
]

const anyCase = (word: string): string => word.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)

/** As it is, or escaped in JSON or in a URL. */
const slash = String.raw`(?:\\?/|%2[Ff])`

const names = secretNames.map(anyCase).join('|')
/** Between a name and its value, as in a shell or in JSON within a text. */
const sets = String.raw`(?:\\?["'])?\s{0,16}[:=]\s{0,16}(?:\\?["'])?`
/** The same on one line. */
const setsHere = sets.replaceAll(String.raw`\s`, String.raw`[ \t]`)
const value: readonly Run[] = [run(`[^\\s"'&,;}]`, 4)]
const variables = variableEnds.map((end) => end.toUpperCase()).join('|')
/** An environment variable's value: shorter words are settings. */
const variableValue: readonly Run[] = [run(`[^\\s"'&,;}()]`, 8)]
const scheme = /(?:(?:basic|bearer|bot|negotiate|apikey|token|key|sso-key) {1,4})?/iy
/** These have several values, some of them in quotes. */
const longScheme = /(?:digest|oauth|hawk|signature|aws4-hmac-sha256) {1,4}/iy
const schemeSoFar = /[a-z\d-]{0,17} {0,4}$/iy

const basic = run('[\\w+/=-]', 8, 1024)
const webToken = [run('[\\w-]', 10, 512), one('\\.'), run('[\\w.-]', 10)]
const discordID = [one('[MNO]'), one('[DTjz]'), one('[AEIMQUYcgk]'), one('[w-z0-5]'), run('[\\w-]', 18, 26)]
const discordToken = [...discordID, one('\\.'), run('[\\w-]', 5, 8), one('\\.'), run('[\\w-]', 25)]
const telegramToken = [run('\\d', 6, 12), one(':'), run('[\\w-]', 30)]
const escapedTelegramToken = [run('\\d', 6, 12), one('%'), one('3'), one('[aA]'), run('[\\w-]', 30)]
const sendGridKey = [run('[\\w-]', 16, 64), one('\\.'), run('[\\w-]', 16)]
/** `a=b; c=d`, up to the end of the line or of a quoted text. */
const cookies = [run('[\\w!#$%&*+.^|~-]', 1, 256), one('='), run(`[^\\r\\n"'\\\\]`, 1)]
const headerRest: readonly Run[] = [run(`[^\\r\\n']`, 4)]
const queryValue: readonly Run[] = [run('[\\w%.~+/=-]', 16)]
const entraSecret: readonly Run[] = [run('[\\w~.-]', 30)]
const slackHook = [run('[\\w/\\\\%-]', 12)]
const discordHook = [run('[\\w-]', 16)]
const userInfo = [run(`[^\\s/@"']`, 1, 1024), one('@')]
const homeName = [run(`[^/\\\\"'\\s:]`, 1)]

const nothing: Verdict = { type: 'no' }

const shapes: readonly Shape[] = [
  { opener: tokenStarts.join('|').replaceAll('.', '\\.'), isWord: true, read: readToken },
  // JSON Web Tokens: header, payload, signature
  { opener: 'eyJ', isWord: true, read: whole(webToken) },
  // RFC 7617: user and password in base64
  { opener: '[Bb]asic |BASIC ', isWord: true, read: readBasic },
  // discord.com/developers/docs/reference, "Authentication": the bot's id (its digits in base64), a time, a signature
  { opener: '(?=[MNO](?:[DTjz](?:[AEIMQUYcgk](?:[w-z0-5]|$)|$)|$))', isWord: true, read: whole(discordToken) },
  // core.telegram.org/bots/api, "Authorizing your bot": also within its URLs, where the colon may be escaped
  { opener: '(?<!\\d)(?=\\d{6,12}[:%]|\\d{1,12}$)', read: readTelegram },
  // SendGrid: docs.sendgrid.com, "API Keys": 22 and 43 characters
  { opener: String.raw`SG\.`, isWord: true, read: whole(sendGridKey) },
  // Webhooks of Slack and Discord, and answers to their interactions: their URL is all that posting takes.
  {
    opener: `hooks\\.slack(?:-gov)?\\.com${slash}(?:services|workflows|triggers|commands|actions)${slash}`,
    read: body(slackHook),
  },
  { opener: `${slash}(?:webhooks|interactions)${slash}\\d{6,20}${slash}`, read: body(discordHook) },
  // Secrets of Microsoft Entra: three characters, a digit, "Q~"
  { opener: String.raw`\dQ~`, read: body(entraSecret) },
  {
    opener: '-----BEGIN ',
    read: (text, { start, body: at, isEnd }) => readPrivateKey(text, { from: start, at, isEnd }),
  },
  // The user and password of a URL
  { opener: `//(?=[^\\s/@"']{1,1024}(?:@|$)|$)`, read: readUserInfo },
  { opener: `(?:${names})${sets}`, read: body(value) },
  { opener: `[A-Z\\d]_(?:${variables})${setsHere}`, read: body(variableValue) },
  // Signatures and keys in the query of a URL, such as those of Azure's shared access
  {
    opener: `[?&;](?:${['sig', 'key', 'code', 'signature', 'x-amz-signature', 'x-goog-signature'].map(anyCase).join('|')})=`,
    read: body(queryValue),
  },
  { opener: String.raw`${anyCase('cookie')}:\s{0,16}|(?:(?<=\s)-b|--cookie)(?:=|\s{1,4})["']?`, read: body(cookies) },
  // curl's user and password, also behind letters that take no value, as in `-sSu`.
  {
    opener: String.raw`(?:(?<=\s)-[fgGiIjJklLnNOqRsSv]{0,12}[uU]|--user|--proxy-user)(?:=|\s{1,4})?["']?(?=[\w.@-]|$)`,
    read: readUser,
  },
  { opener: `${anyCase('authorization')}${sets}`, read: readAuthorization },
  { opener: String.raw`/home/|/Users/|[A-Z]:\\{1,2}Users\\{1,2}`, read: readHome },
  { opener: '/root', read: readRoot },
]

/** The longest opener, in UTF-16 units. */
export const reach = 80

/** Precedes a word. The letter of an escape, as in `\n`, is not part of a word. */
const beforeWord = String.raw`(?:(?<!\w)|(?<=\\[nrtbf]))`
const wordShapes = shapes.filter((shape) => shape.isWord)
const otherShapes = shapes.filter((shape) => !shape.isWord)
/** In the order of the groups. */
const grouped = [...wordShapes, ...otherShapes]
const groupsOf = (list: readonly Shape[]): string => list.map((shape) => `(${shape.opener})`).join('|')

/** Finds where a secret may begin. */
export const openers = new RegExp(
  // The first lookahead is only for speed: nearly every character fails there.
  `(?=[MNO${[...new Set(wordStarts.map(([first]) => first))].join('')}])${beforeWord}(?:${groupsOf(wordShapes)})|${groupsOf(otherShapes)}`,
  'g',
)
export const wordBegins = new RegExp(beforeWord, 'y')

/** Reads the possible secret at an opener. */
export function readOpener(text: string, found: RegExpExecArray, isEnd: boolean): Verdict {
  const place = { start: found.index, body: found.index + found[0].length, isEnd }
  for (let at = 0; at < grouped.length; at++)
    if (found[at + 1] !== undefined) return grouped[at]?.read(text, place) ?? nothing
  return nothing
}

/** Replaces the opener as well. */
function whole(runs: readonly Run[]): Shape['read'] {
  return (text, { start, body: at, isEnd }) => readRuns(text, { from: start, at, isEnd }, runs)
}

/** Keeps the opener. */
function body(runs: readonly Run[]): Shape['read'] {
  return (text, { body: at, isEnd }) => readRuns(text, { from: at, at, isEnd }, runs)
}

function readToken(text: string, place: Place): Verdict {
  const runs = tokenRuns.get(text.slice(place.start, place.body))
  return runs ? whole(runs)(text, place) : nothing
}

function readTelegram(text: string, place: Place): Verdict {
  const plain = whole(telegramToken)(text, place)
  return plain.type === 'no' ? whole(escapedTelegramToken)(text, place) : plain
}

/**
 * "Basic " and a word, as in prose, is not a secret: only at its end is it clear whether the word is base64 of a user
 * and a password.
 */
function readBasic(text: string, { start, body: at, isEnd }: Place): Verdict {
  const length = lengthOf(basic.pattern, text, at)
  if (!isEnd && length < basic.max && at + length === text.length) return { type: 'growing', from: start }
  const isPair = length === basic.max || (length >= basic.min && holdsPair(text.slice(at, at + length)))
  return isPair ? readRuns(text, { from: start, at, isEnd }, [basic]) : nothing
}

function holdsPair(base64: string): boolean {
  const digits = base64.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  if (digits.includes('=')) return false
  const bytes = atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits)
  return bytes.includes(':') && !/[^\x20-\x7e\x80-\xff]/.test(bytes)
}

function readUserInfo(text: string, { body: at, isEnd }: Place): Verdict {
  const found = readRuns(text, { from: at, at, isEnd }, userInfo)
  return found.type === 'secret' ? { ...found, end: found.end - 1, swallow: undefined } : found
}

/**
 * curl's user and password, which only their end tells from a user and a group (`-u 1000:1000`), an address with a port,
 * and variables.
 */
function readUser(text: string, { body: at, isEnd }: Place): Verdict {
  const ahead = text.slice(at, at + longestUser)
  const pattern = { '"': inDoubleQuotes, "'": inSingleQuotes }[text.charAt(at - 1)] ?? unquoted
  const [, user = '', password = ''] = pattern.exec(ahead) ?? []
  const end = at + user.length + password.length
  const canGrow = !isEnd && end === text.length && end - at < longestUser
  if (canGrow) return { type: 'growing', from: at }
  const secret = password.slice(1)
  const isOther = secret.length < 3 || /^(?:\d{1,5}$|\/\/|[$<{])/.test(secret) || secret === user
  return isOther ? nothing : { type: 'secret', from: at, end, mark: secretMark, swallow: undefined }
}

const longestUser = 1024
const inDoubleQuotes = /^([\w.@-]{1,128})(:[^"\r\n]*)?/
const inSingleQuotes = /^([\w.@-]{1,128})(:[^'\r\n]*)?/
const unquoted = /^([\w.@-]{1,128})(:[^\s"']*)?/

/** Replaces a scheme such as "Bearer …" with its credentials. */
function readAuthorization(text: string, { body: at, isEnd }: Place): Verdict {
  schemeSoFar.lastIndex = at
  if (!isEnd && schemeSoFar.test(text)) return { type: 'growing', from: at }
  const long = lengthOf(longScheme, text, at)
  if (long > 0) return readRuns(text, { from: at, at: at + long, isEnd }, headerRest)
  return readRuns(text, { from: at, at: at + lengthOf(scheme, text, at), isEnd }, value)
}

function readHome(text: string, place: Place): Verdict {
  const found = whole(homeName)(text, place)
  return found.type === 'secret' ? { ...found, mark: '/home/user' } : found
}

function readRoot(text: string, { start, body: end, isEnd }: Place): Verdict {
  if (end === text.length && !isEnd) return { type: 'growing', from: start }
  const isWhole = end === text.length || /[/"'\s:]/.test(text.charAt(end))
  return isWhole ? { type: 'secret', from: start, end, mark: '/home/user' } : nothing
}

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
function readPrivateKey(text: string, { from, at, isEnd }: Span): Verdict {
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
    const at = start + found.index
    const end = at + found[0].length
    if (found.groups?.material !== undefined) return { type: 'material', at, end }
    if (found.groups?.last !== undefined) return { type: 'last', at, end }
    const line = window.slice(window.lastIndexOf('\n', found.index) + 1, found.index)
    if (!header.test(line)) return { type: 'prose', at, end }
  }
  return undefined
}
