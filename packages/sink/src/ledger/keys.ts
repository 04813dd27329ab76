/**
 * The keys of cards and of their messages. They are written to ledgers, so changing one needs a new ledger version.
 *
 * A card's key is unique within its reply. A message's key is the card's, followed by `#` and its index if the card can
 * take several.
 */

export const statusKey = 'status'
export const todosKey = 'todos'
export const endingKey = 'ending'

/** The message that notifies at the end of a long reply. */
export const doneKey = 'done'

/** The note on how full the context is. */
export const contextKey = 'context'

/** The line about the files that the run changed. */
export const changesKey = 'changes'

/** The line below the answer of a run that was stopped here. */
export const stoppedKey = 'stopped-here'

/** The text before the first card that interrupts it. */
export const answerKey = 'answer'

/** Returns the key of the text below the card that interrupted it. */
export function answerBelow(card: string): string {
  return `${answerKey}@${card}`
}

/** Returns the key of an answer that is posted again, because its messages are wrong and can't be edited. */
export function correctionOf(answer: string): string {
  return `${answer}!`
}

/** Returns the key of a file with code of an answer. */
export function fileKey(answer: string, name: string): string {
  return `${answer}/${name}`
}

/** Returns the key of a post of files with these keys. */
export function attachmentKey(files: readonly string[]): string {
  return files.length === 1 ? `attachment:${files[0]}` : `album:${files.length}:${files[0]}`
}

/** Returns the key of the note on a file that was not posted. */
export function unsentKey(file: string): string {
  return `unsent:${file}`
}

/** The note on files that are too many. */
export const unsentRestKey = 'unsent'

/** Returns the key of the notice after this many others. */
export function noticeKey(count: number): string {
  return `notice:${count}`
}

/** Returns the key of the heartbeat after this many others. */
export function heartbeatKey(count: number): string {
  return `heartbeat:${count}`
}

/** Whether it is the key of a notice or a heartbeat. */
export function isProgressKey(key: string): boolean {
  return key.startsWith('notice:') || key.startsWith('heartbeat:')
}

/** Returns the key of a compaction's note. `id` is that of the compaction's part, or the time when it began. */
export function compactionKey(id: string | number): string {
  return `compaction:${id}`
}

/** Returns the key of the card for a part with reasoning. */
export function reasoningKey(partID: string): string {
  return `reasoning:${partID}`
}

/** Returns the key of a prompt that joined the reply. */
export function promptKey(promptID: string): string {
  return `prompt:${promptID}`
}

/** Whether it is the key of a prompt that joined the reply. */
export function isJoinedPrompt(key: string): boolean {
  return key.startsWith('prompt:')
}

/** Returns the key of one question of an ask. */
export function questionKey(requestID: string, index: number): string {
  return `ask:${requestID}:${index}`
}

/** Returns the key of a permission with that content. */
export function permissionKey(requestID: string, digest: string): string {
  return `ask:${requestID}:${digest}`
}

/** Returns the request that a card belongs to. Undefined if the card is not an ask's. */
export function requestIDOf(card: string): string | undefined {
  return /^ask:(.*):[^:]*$/.exec(card)?.[1]
}

/** Returns the key of a message of an answer. Each message has an index, also the first. */
export function answerMessageKey(card: string, index: number): string {
  return `${card}#${index}`
}

/** Returns the key of a message of an ask. The first message has no index. */
export function askMessageKey(card: string, index: number): string {
  return index === 0 ? card : `${card}#${index}`
}

/** Returns the index of the message within its card, from 0. A key without an index has 0. */
export function messageIndex(key: string): number {
  return Number(/#(\d+)$/.exec(key)?.[1] ?? 0)
}

/** The first message of a reply's text. */
export const firstAnswerMessage = answerMessageKey(answerKey, 0)
