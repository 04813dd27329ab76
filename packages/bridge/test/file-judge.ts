/** Something that an answer should show: a text, a file, or the name of a file that is not there. */
export interface Piece {
  readonly type: 'text' | 'file' | 'missing'
  /** The text, or the name of the file, which its bytes contain. */
  readonly name: string
  /** The key of the file in ledgers. Absent for a text. */
  readonly key?: string
}

/** A chat with a run, and what the bridge's ledgers tell of it. */
export interface FileChat {
  /** What the agent made, in the order of the answer. */
  readonly wanted: readonly Piece[]
  /** The bot's messages, oldest first. */
  readonly seen: readonly { readonly text: string; readonly files: readonly Uint8Array[] }[]
  /** How many posts have a result that the bridge does not know. */
  readonly doubtful: number
  /** The keys of the files of those posts that the bridge does not try again. */
  readonly doubted: ReadonlySet<string>
}

/** How a chat compares with what the agent made. */
export interface FileVerdict {
  /** Posts that the chat shows more than once, counted from the second. */
  readonly copies: number
  /** Files that the chat does not show, because the result of their very post is not known. */
  readonly doubted: number
  /** Files that the chat should show and does not, whether it names them or not. */
  readonly lost: number
  /** What is wrong, in words. Empty if nothing is. */
  readonly problems: readonly string[]
}

/**
 * Compares a chat with what the agent made. Each file must be there, unless the bridge counts its post as doubtful. A note in its
 * place does not count. A file that the agent never made must be named. What is there has the order of the answer.
 */
export function judgeFiles({ wanted, seen, doubtful, doubted }: FileChat): FileVerdict {
  const files = wanted.filter(({ type }) => type === 'file')
  const texts = seen.map(({ text }) => text)
  const isNamed = (name: string): boolean => texts.some((text) => text.includes('📎') && text.includes(name))
  const shown = seen.flatMap(({ text, files: posted }) => [
    ...wanted.filter(({ type, name }) => type === 'text' && text.includes(name)).map(({ name }) => name),
    ...posted.map((bytes) => files.find(({ name }) => Buffer.from(bytes).includes(name))?.name ?? 'unknown'),
  ])
  const copies = copiedPosts(shown)
  const unseen = files.filter(({ name }) => !shown.includes(name))
  const lost = unseen.filter(({ key = '' }) => !doubted.has(key))
  const unnamed = wanted.filter(({ type, name }) => type === 'missing' && !isNamed(name))
  const names = wanted.map(({ name }) => name)
  const problems = [
    ...lost.map(({ name }) => `${name} is ${isNamed(name) ? 'named and ' : ''}not shown`),
    ...unnamed.map(({ name }) => `${name} is not named`),
    ...(copies > doubtful ? [`${copies} copies, of which ${doubtful} are counted`] : []),
    ...(shown.includes('unknown') ? ['a file of another run is shown'] : []),
    ...(isInOrder(shown, names) ? [] : [`out of order: ${shown.join()}`]),
  ]
  return { copies, doubted: unseen.length - lost.length, lost: lost.length, problems }
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
