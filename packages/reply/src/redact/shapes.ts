import {
  type CharacterRun,
  characterRun,
  matchLength,
  oneCharacter,
  type ReadPosition,
  readRuns,
  type SecretReading,
  type Swallow,
  secretMark,
} from './character-run.ts'
import { secretNames, variableEnds } from './secret-name.ts'

interface OpenerPlace {
  /** Where the opener begins. */
  readonly start: number
  /** Where it ends. */
  readonly end: number
  /** Whether this is the end of the text. */
  readonly isEnd: boolean
}

/** The pattern of one kind of secret. */
interface Shape {
  /** The source of a regular expression of at most `longestOpener` UTF-16 units. */
  readonly opener: string
  /** Whether the opener begins a word. */
  readonly isWord?: boolean
  readonly read: (text: string, place: OpenerPlace) => SecretReading
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
  [withUpperCase(['a', 'b', 'c', 'd', 'e', 'o', 'p', 'r', 's'].map((kind) => `xox${kind}-`)), '[\\w.-]', 10],
  [withUpperCase(['xoxe.', 'xapp-']), '[\\w.-]', 10],
  // Stripe: docs.stripe.com/keys, with those of an organization. The last is a webhook's signing secret.
  [['sk_live_', 'rk_live_', 'sk_test_', 'rk_test_', 'sk_org_'], '\\w', 10],
  [['whsec_'], '[\\w+/=-]', 16],
  // npm: docs.npmjs.com, "About access tokens": 36 characters
  [['npm_'], '[A-Za-z0-9]', 24],
  // Hugging Face: huggingface.co/docs/hub/security-tokens: 34 letters
  [['hf_'], '[A-Za-z0-9]', 20],
  // ntfy: docs.ntfy.sh/config, "Access tokens": 29 letters and digits
  [['tk_'], '[A-Za-z0-9]', 24],
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

/** The texts, and the same in upper case. */
function withUpperCase(starts: readonly string[]): readonly string[] {
  return [...starts, ...starts.map((start) => start.toUpperCase())]
}

const tokenRuns = new Map(
  tokens.flatMap(([starts, charClass, least]) =>
    starts.map((start) => [start, [characterRun(charClass, least)]] as const),
  ),
)
const tokenStarts = [...tokenRuns.keys()]

const drives = Array.from({ length: 26 }, (_, at) => `${String.fromCharCode(65 + at)}:\\`)

/** How openers at the beginning of a word start. A text may end within one of these. */
export const wordStarts: readonly string[] = [...tokenStarts, 'eyJ', 'SG.', 'Basic ', 'basic ', 'BASIC ']
/** How openers that may be anywhere start. A text may end within one of these. */
export const otherStarts: readonly string[] = [
  ...['-----BEGIN ', '/home/', '/Users/', '/root'],
  ...drives.flatMap((drive) => [`${drive}Users\\`, `${drive}\\Users\\`]),
]

/** Returns a pattern that matches a word of lower-case letters in any case. */
const anyCase = (word: string): string => word.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)

/** A slash, also escaped in JSON or in a URL. */
const slash = String.raw`(?:\\?/|%2[Ff])`

const secretNamePattern = secretNames.map(anyCase).join('|')
/** Between a name and its value, as in a shell or in JSON within a text. */
const assignment = String.raw`(?:\\?["'])?\s{0,16}[:=]\s{0,16}(?:\\?["'])?`
/** As `assignment`, but on one line. */
const assignmentInLine = assignment.replaceAll(String.raw`\s`, String.raw`[ \t]`)
const secretValue: readonly CharacterRun[] = [characterRun(`[^\\s"'&,;}]`, 4)]
const variableNamePattern = variableEnds.map((end) => end.toUpperCase()).join('|')
/** The value of an environment variable. Shorter ones are settings, not secrets. */
const variableValue: readonly CharacterRun[] = [characterRun(`[^\\s"'&,;}()]`, 8)]
const scheme = /(?:(?:basic|bearer|bot|negotiate|apikey|token|key|sso-key) {1,4})?/iy
/** These have several values, some of them in quotes. */
const longScheme = /(?:digest|oauth|hawk|signature|aws4-hmac-sha256) {1,4}/iy
const schemeSoFar = /[a-z\d-]{0,17} {0,4}$/iy

const basic = characterRun('[\\w+/=-]', 8, 1024)
const webToken = [characterRun('[\\w-]', 10, 512), oneCharacter('\\.'), characterRun('[\\w.-]', 10)]
const discordID = [
  oneCharacter('[MNO]'),
  oneCharacter('[DTjz]'),
  oneCharacter('[AEIMQUYcgk]'),
  oneCharacter('[w-z0-5]'),
  characterRun('[\\w-]', 18, 26),
]
const discordToken = [
  ...discordID,
  oneCharacter('\\.'),
  characterRun('[\\w-]', 5, 8),
  oneCharacter('\\.'),
  characterRun('[\\w-]', 25),
]
const telegramToken = [characterRun('\\d', 6, 12), oneCharacter(':'), characterRun('[\\w-]', 30)]
const escapedTelegramToken = [
  characterRun('\\d', 6, 12),
  oneCharacter('%'),
  oneCharacter('3'),
  oneCharacter('[aA]'),
  characterRun('[\\w-]', 30),
]
const sendGridKey = [characterRun('[\\w-]', 16, 64), oneCharacter('\\.'), characterRun('[\\w-]', 16)]
/** `a=b; c=d`, up to the end of the line or of a quoted text. */
const cookies = [characterRun('[\\w!#$%&*+.^|~-]', 1, 256), oneCharacter('='), characterRun(`[^\\r\\n"'\\\\]`, 1)]
const headerRest: readonly CharacterRun[] = [characterRun(`[^\\r\\n']`, 4)]
const queryValue: readonly CharacterRun[] = [characterRun('[\\w%.~+/=-]', 16)]
const entraSecret: readonly CharacterRun[] = [characterRun('[\\w~.-]', 30)]
const slackHook = [characterRun('[\\w/\\\\%-]', 12)]
const discordHook = [characterRun('[\\w-]', 16)]
const userInfo = [characterRun(`[^\\s/@"']`, 1, 1024), oneCharacter('@')]
const homeName = [characterRun(`[^/\\\\"'\\s:]`, 1)]

const noSecret: SecretReading = { type: 'no' }

const shapes: readonly Shape[] = [
  { opener: tokenStarts.join('|').replaceAll('.', '\\.'), isWord: true, read: readToken },
  // JSON Web Tokens: header, payload, signature
  { opener: 'eyJ', isWord: true, read: replaceWithOpener(webToken) },
  // RFC 7617: user and password in base64
  { opener: '[Bb]asic |BASIC ', isWord: true, read: readBasic },
  // discord.com/developers/docs/reference, "Authentication": the bot's id (its digits in base64), a time, a signature
  {
    opener: '(?=[MNO](?:[DTjz](?:[AEIMQUYcgk](?:[w-z0-5]|$)|$)|$))',
    isWord: true,
    read: replaceWithOpener(discordToken),
  },
  // core.telegram.org/bots/api, "Authorizing your bot": also within its URLs, where the colon may be escaped
  { opener: '(?<!\\d)(?=\\d{6,12}[:%]|\\d{1,12}$)', read: readTelegramToken },
  // SendGrid: docs.sendgrid.com, "API Keys": 22 and 43 characters
  { opener: String.raw`SG\.`, isWord: true, read: replaceWithOpener(sendGridKey) },
  // Webhooks of Slack and Discord, and answers to their interactions: anyone who has the URL can post.
  {
    opener: `hooks\\.slack(?:-gov)?\\.com${slash}(?:services|workflows|triggers|commands|actions)${slash}`,
    read: replaceAfterOpener(slackHook),
  },
  { opener: `${slash}(?:webhooks|interactions)${slash}\\d{6,20}${slash}`, read: replaceAfterOpener(discordHook) },
  // Secrets of Microsoft Entra: three characters, a digit, "Q~"
  { opener: String.raw`\dQ~`, read: replaceAfterOpener(entraSecret) },
  {
    opener: '-----BEGIN ',
    read: (text, { start, end: at, isEnd }) => readPrivateKey(text, { from: start, at, isEnd }),
  },
  // The user and password of a URL
  { opener: `//(?=[^\\s/@"']{1,1024}(?:@|$)|$)`, read: readUserInfo },
  { opener: `(?:${secretNamePattern})${assignment}`, read: replaceAfterOpener(secretValue) },
  { opener: `[A-Z\\d]_(?:${variableNamePattern})${assignmentInLine}`, read: replaceAfterOpener(variableValue) },
  // Signatures and keys in the query of a URL, such as those of Azure's shared access
  {
    opener: `[?&;](?:${['sig', 'key', 'code', 'signature', 'x-amz-signature', 'x-goog-signature'].map(anyCase).join('|')})=`,
    read: replaceAfterOpener(queryValue),
  },
  {
    opener: String.raw`${anyCase('cookie')}:\s{0,16}|(?:(?<=\s)-b|--cookie)(?:=|\s{1,4})["']?`,
    read: replaceAfterOpener(cookies),
  },
  // curl's user and password, also behind letters that take no value, as in `-sSu`.
  {
    opener: String.raw`(?:(?<=\s)-[fgGiIjJklLnNOqRsSv]{0,12}[uU]|--user|--proxy-user)(?:=|\s{1,4})?["']?(?=[\w.@-]|$)`,
    read: readCurlUser,
  },
  { opener: `${anyCase('authorization')}${assignment}`, read: readAuthorization },
  { opener: String.raw`/home/|/Users/|[A-Z]:\\{1,2}Users\\{1,2}`, read: readHomeName },
  { opener: '/root', read: readRootHome },
]

/** The longest opener, in UTF-16 units. */
export const longestOpener = 80

/** Precedes a word. The letter of an escape, as in `\n`, is not part of a word. */
const beforeWord = String.raw`(?:(?<!\w)|(?<=\\[nrtbf]))`
const wordShapes = shapes.filter((shape) => shape.isWord)
const otherShapes = shapes.filter((shape) => !shape.isWord)
/** In the order of the groups in `openers`. */
const shapesInOrder = [...wordShapes, ...otherShapes]
/** Returns one capturing group for each shape's opener, as alternatives. */
const groupsOf = (list: readonly Shape[]): string => list.map((shape) => `(${shape.opener})`).join('|')

/** Finds where a secret may begin. */
export const openers = new RegExp(
  // The first lookahead is only for speed: nearly every character fails there.
  `(?=[MNO${[...new Set(wordStarts.map(([first]) => first))].join('')}])${beforeWord}(?:${groupsOf(wordShapes)})|${groupsOf(otherShapes)}`,
  'g',
)
export const wordBegins = new RegExp(beforeWord, 'y')

/**
 * Reads the possible secret at an opener, which is a match of `openers`: a text that secrets of a shape begin with,
 * such as `ghp_`. `no` if it isn't a secret.
 */
export function readOpener(text: string, match: RegExpExecArray, isEnd: boolean): SecretReading {
  const place = { start: match.index, end: match.index + match[0].length, isEnd }
  for (let at = 0; at < shapesInOrder.length; at++)
    if (match[at + 1] !== undefined) return shapesInOrder[at]?.read(text, place) ?? noSecret
  return noSecret
}

/** Reads consecutive runs after the opener. The replacement includes the opener. */
function replaceWithOpener(runs: readonly CharacterRun[]): Shape['read'] {
  return (text, { start, end: at, isEnd }) => readRuns(text, { from: start, at, isEnd }, runs)
}

/** Reads consecutive runs after the opener. The opener stays. */
function replaceAfterOpener(runs: readonly CharacterRun[]): Shape['read'] {
  return (text, { end: at, isEnd }) => readRuns(text, { from: at, at, isEnd }, runs)
}

/** Reads the characters that this kind of token has. The minimum length depends on the opener. */
function readToken(text: string, place: OpenerPlace): SecretReading {
  const runs = tokenRuns.get(text.slice(place.start, place.end))
  return runs ? replaceWithOpener(runs)(text, place) : noSecret
}

/** Reads a bot's token. In a URL its colon may be written as `%3A`. */
function readTelegramToken(text: string, place: OpenerPlace): SecretReading {
  const plain = replaceWithOpener(telegramToken)(text, place)
  return plain.type === 'no' ? replaceWithOpener(escapedTelegramToken)(text, place) : plain
}

/**
 * Reads the credentials after "Basic ". In prose a word may follow, so the whole word must be known: it is a secret if
 * it is base64 of a user and a password.
 */
function readBasic(text: string, { start, end: at, isEnd }: OpenerPlace): SecretReading {
  const length = matchLength(basic.pattern, text, at)
  if (!isEnd && length < basic.max && at + length === text.length) return { type: 'growing', from: start }
  const isPair = length === basic.max || (length >= basic.min && isUserAndPassword(text.slice(at, at + length)))
  return isPair ? readRuns(text, { from: start, at, isEnd }, [basic]) : noSecret
}

/** Whether base64 text decodes to printable characters with a colon. False for a text that isn't base64. */
function isUserAndPassword(base64: string): boolean {
  const digits = base64.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  if (digits.includes('=')) return false
  const bytes = atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits)
  return bytes.includes(':') && !/[^\x20-\x7e\x80-\xff]/.test(bytes)
}

/** Reads the user and the password of a URL. The `@` stays. */
function readUserInfo(text: string, { end: at, isEnd }: OpenerPlace): SecretReading {
  const verdict = readRuns(text, { from: at, at, isEnd }, userInfo)
  return verdict.type === 'secret' ? { ...verdict, end: verdict.end - 1, swallow: undefined } : verdict
}

/**
 * Reads curl's user and password. Only at their end do they differ from a user and a group (`-u 1000:1000`), an address
 * with a port, and variables. Those are no secret, nor is a password below three characters or one that equals the
 * user.
 */
function readCurlUser(text: string, { end: at, isEnd }: OpenerPlace): SecretReading {
  const ahead = text.slice(at, at + longestUser)
  const pattern = { '"': inDoubleQuotes, "'": inSingleQuotes }[text.charAt(at - 1)] ?? outsideQuotes
  const [, user = '', password = ''] = pattern.exec(ahead) ?? []
  const end = at + user.length + password.length
  const canGrow = !isEnd && end === text.length && end - at < longestUser
  if (canGrow) return { type: 'growing', from: at }
  const secret = password.slice(1)
  const isOther = secret.length < 3 || /^(?:\d{1,5}$|\/\/|[$<{])/.test(secret) || secret === user
  return isOther ? noSecret : { type: 'secret', from: at, end, mark: secretMark, swallow: undefined }
}

const longestUser = 1024
const inDoubleQuotes = /^([\w.@-]{1,128})(:[^"\r\n]*)?/
const inSingleQuotes = /^([\w.@-]{1,128})(:[^'\r\n]*)?/
const outsideQuotes = /^([\w.@-]{1,128})(:[^\s"']*)?/

/** Reads the value of an authorization header. A scheme such as "Bearer" is replaced together with its credentials. */
function readAuthorization(text: string, { end: at, isEnd }: OpenerPlace): SecretReading {
  schemeSoFar.lastIndex = at
  if (!isEnd && schemeSoFar.test(text)) return { type: 'growing', from: at }
  const long = matchLength(longScheme, text, at)
  if (long > 0) return readRuns(text, { from: at, at: at + long, isEnd }, headerRest)
  return readRuns(text, { from: at, at: at + matchLength(scheme, text, at), isEnd }, secretValue)
}

/** Reads the user's name in the path of a home directory, which becomes `/home/user`. */
function readHomeName(text: string, place: OpenerPlace): SecretReading {
  const verdict = replaceWithOpener(homeName)(text, place)
  return verdict.type === 'secret' ? { ...verdict, mark: '/home/user' } : verdict
}

/** Reads `/root` as the home directory, which becomes `/home/user`. Not if the name continues, as in `/roots`. */
function readRootHome(text: string, { start, end, isEnd }: OpenerPlace): SecretReading {
  if (end === text.length && !isEnd) return { type: 'growing', from: start }
  const isWhole = end === text.length || /[/"'\s:]/.test(text.charAt(end))
  return isWhole ? { type: 'secret', from: start, end, mark: '/home/user' } : noSecret
}

/** The rest of a first line, after `-----BEGIN `. RFC 7468. OpenPGP adds "BLOCK". */
const label = /[A-Z0-9 ]{0,64}/y
const dashes = /-{0,5}/y

/** The longest text between two runs of a key: line ends, also as `\n`, quotes, gutters, headers. */
const longestGap = 512
/** How far the next sign is searched: more than the longest gap and the longest sign together. In UTF-16 units. */
const lookAhead = longestGap + 128

const base64 = /[\w+/=]*/y
const keySigns = new RegExp(
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
const keyStart = /^[\s\\nr"'`|:>+\d]*(?:M[A-Z]|b3B)/

/**
 * Reads a private key of any length, from its first line to its last. Without a last line, matches up to where the text
 * no longer looks like a key. A lone first line, as in a text about keys, is not a secret.
 */
function readPrivateKey(text: string, { from, at, isEnd }: ReadPosition): SecretReading {
  const afterLabel = at + matchLength(label, text, at)
  const start = afterLabel + matchLength(dashes, text, afterLabel)
  if (start === text.length && start - afterLabel < 5) return isEnd ? { type: 'no' } : { type: 'growing', from }
  if (start - afterLabel < 5 || !text.slice(at, afterLabel).includes('PRIVATE KEY')) return { type: 'no' }
  const sign = nextSign(text, start)
  const isNear = sign !== undefined && sign.at - start <= longestGap
  if (isNear && sign.type === 'prose') return { type: 'no' }
  if (isNear) return { type: 'secret', from, end: start, mark: secretMark, swallow: swallowKey() }
  if (sign || text.length - start > lookAhead) return { type: 'no' }
  if (!isEnd) return { type: 'growing', from }
  return keyStart.test(text.slice(start))
    ? { type: 'secret', from, end: text.length, mark: secretMark }
    : { type: 'no' }
}

/**
 * Returns a function that consumes the rest of a private key, piece by piece: up to its last line, or to where the text
 * no longer looks like a key.
 */
function swallowKey(): Swallow {
  /** Whether the preceding text is a run of base64 that may continue. */
  let isInRun = false
  return (text, at, isEnd) => {
    let end = at
    for (;;) {
      if (isInRun) end += matchLength(base64, text, end)
      if (end === text.length) return { end, isOver: isEnd }
      isInRun = false
      const sign = nextSign(text, end)
      const isFar = sign ? sign.at - end > longestGap : text.length - end > lookAhead
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

/**
 * The first sign after `start` that shows whether the key continues. Prose in a line such as "Comment: …" doesn't
 * count. Undefined if there is none within `lookAhead`.
 */
function nextSign(text: string, start: number): Sign | undefined {
  const window = text.slice(start, start + lookAhead)
  keySigns.lastIndex = 0
  for (let found = keySigns.exec(window); found; found = keySigns.exec(window)) {
    const at = start + found.index
    const end = at + found[0].length
    if (found.groups?.material !== undefined) return { type: 'material', at, end }
    if (found.groups?.last !== undefined) return { type: 'last', at, end }
    const line = window.slice(window.lastIndexOf('\n', found.index) + 1, found.index)
    if (!header.test(line)) return { type: 'prose', at, end }
  }
  return undefined
}
