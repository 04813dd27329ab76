/** Something that an answer should show: a text, a file, or the name of a file that is not there. */
export interface Piece {
  readonly type: 'text' | 'file' | 'missing'
  /** The text, or the name of the file, which its bytes contain. */
  readonly name: string
}

/** A message of the bot. */
interface Message {
  readonly text: string
  readonly files: readonly Uint8Array[]
}

/** A chat with a run, and what the bridge's ledgers tell of it. */
export interface FileChat {
  /** What the agent made, in the order of the answer. */
  readonly wanted: readonly Piece[]
  /** The bot's messages, oldest first, until the person asked for what may be missing. */
  readonly seen: readonly Message[]
  /** Those after that. Empty if the bridge told of nothing that may be missing. */
  readonly resent: readonly Message[]
  /** How many posts have a result that the bridge does not know. */
  readonly doubtful: number
}

/** How a chat compares with what the agent made. */
export interface FileVerdict {
  /** Posts that the chat shows more than once before the person asked, counted from the second. */
  readonly copies: number
  /** Files, and names of files, that came once the person asked for what may be missing. */
  readonly late: number
  /** Files that the chat should show and does not, whether it names them or not. */
  readonly lost: number
  /** What is wrong, in words. Empty if nothing is. */
  readonly problems: readonly string[]
}

/**
 * Compares a chat with what the agent made. Each file must be there, at the latest once the person asks for what may be missing: a
 * doubt about its post allows a copy, and no loss. A note in its place does not count. A file that the agent never made must be named,
 * at the latest then, too.
 * What was there before the person asked has the order of the answer.
 */
export function judgeFiles({ wanted, seen, resent, doubtful }: FileChat): FileVerdict {
  const files = wanted.filter(({ type }) => type === 'file')
  const isNamedIn = (messages: readonly Message[], name: string): boolean =>
    messages.some(({ text }) => text.includes('📎') && text.includes(name))
  const filesIn = ({ files: posted }: Message): readonly string[] =>
    posted.map((bytes) => files.find(({ name }) => Buffer.from(bytes).includes(name))?.name ?? 'unknown')
  const shown = seen.flatMap((message) => [
    ...wanted.filter(({ type, name }) => type === 'text' && message.text.includes(name)).map(({ name }) => name),
    ...filesIn(message),
  ])
  const again = resent.flatMap(filesIn)
  const copies = copiedPosts(shown)
  const unseen = files.filter(({ name }) => !shown.includes(name))
  const lost = unseen.filter(({ name }) => !again.includes(name))
  const unnamed = wanted.filter(({ type, name }) => type === 'missing' && !isNamedIn(seen, name))
  const neverNamed = unnamed.filter(({ name }) => !isNamedIn(resent, name))
  const names = wanted.map(({ name }) => name)
  const problems = [
    ...lost.map(({ name }) => `${name} is ${isNamedIn(seen, name) ? 'named and ' : ''}not shown`),
    ...neverNamed.map(({ name }) => `${name} is not named`),
    ...(copies > doubtful ? [`${copies} copies, of which ${doubtful} are counted`] : []),
    ...([...shown, ...again].includes('unknown') ? ['a file of another run is shown'] : []),
    ...(isInOrder(shown, names) ? [] : [`out of order: ${shown.join()}`]),
  ]
  const late = unseen.length - lost.length + unnamed.length - neverNamed.length
  return { copies, late, lost: lost.length, problems }
}

/** Counts the posts that are there again. The files of an album are one post, and follow each other. */
function copiedPosts(shown: readonly string[]): number {
  const isCopy = (at: number): boolean => shown.indexOf(shown[at] ?? '') < at
  return shown.filter((_, at) => isCopy(at) && !(at > 0 && isCopy(at - 1) && shown[at] !== shown[at - 1])).length
}

/** Whether what is shown has the order of the answer. Copies may be anywhere. */
function isInOrder(shown: readonly string[], wanted: readonly string[]): boolean {
  const places = [...new Set(shown)].map((name) => wanted.indexOf(name)).filter((place) => place >= 0)
  return places.every((place, index) => index === 0 || place > (places[index - 1] ?? 0))
}
