import { type Child, isShownText, type Part, partsOf, type Reply, type ReplyFile, type ToolPart } from '@reply/core'
import { isSendFile } from '@reply/core/internal'
import { fileFacts, toolFacts } from '@reply/core/show'
import type { Policy } from '../config.ts'
import type { Card } from '../ledger/card.ts'
import { attachmentKey, unsentKey, unsentRestKey } from '../ledger/keys.ts'
import type { Texts } from '../texts.ts'
import { italic, oneLine } from './format.ts'
import type { ViewOptions } from './view.ts'

/** A file of a reply that the chat shows. */
export interface ShownFile {
  /** Unique among the files of the reply and its sub-agents. */
  readonly key: string
  readonly file: ReplyFile
  /** The number of shown text parts above it. */
  readonly at: number
}

/**
 * The most files that are posted of one reply. Twenty are two albums of ten, which most platforms take in two calls, and two
 * minutes of posts on WhatsApp. People look through a folder or an archive of more files better than through a chat.
 */
export const mostFiles = 20

/** Tools that open a file or a page for the model to look at. What they return was not made for people. */
const readingTools: ReadonlySet<string> = new Set([
  ...['read', 'view', 'view_image', 'notebookread', 'list', 'ls', 'glob', 'grep', 'search'],
  ...['webfetch', 'web_fetch', 'fetch', 'websearch', 'web_search'],
])

/**
 * Returns the files of a reply that the policy shows, in the order of the answer: those of the agent itself and of the tool
 * `send_file`, and with `all` also those of other tools, for example screenshots. Files that a tool opened for the model to look at
 * are never shown. Those that a sub-agent sent stand where it was started, or at the end if that is unknown.
 */
export function filesToShow(reply: Reply, policy: Pick<Policy, 'files' | 'verbosity'>): readonly ShownFile[] {
  const { files } = policy
  if (files === 'none') return []
  const showsTools = files === 'all' && policy.verbosity !== 'quiet'
  const unplaced = new Set(reply.children)
  const childrenOf = new Map<string, Child[]>()
  for (const child of reply.children)
    if (child.callID !== undefined) childrenOf.set(child.callID, [...(childrenOf.get(child.callID) ?? []), child])
  let at = 0
  const placed = partsOf(reply).flatMap((part): readonly ShownFile[] => {
    if (isShownText(part)) at += 1
    // Providers may repeat a call's id, so each sub-agent is placed once.
    const started = part.type === 'tool' ? (childrenOf.get(part.callID) ?? []) : []
    return [
      ...filesOfPart(part, reply, showsTools).map((file) => ({ key: file.id, file, at })),
      ...started.flatMap((child) => (unplaced.delete(child) ? sentByChild(child.reply, at) : [])),
    ]
  })
  return [...placed, ...[...unplaced].flatMap((child) => sentByChild(child.reply, at))]
}

/** Returns the files of a reply and its sub-agents with these keys, see `Undelivered.files`. Unknown ones are left out. */
export function filesWithKeys(reply: Reply, keys: readonly string[]): readonly ReplyFile[] {
  const files = filesToShow(reply, { files: 'all', verbosity: 'normal' })
  return keys.flatMap((key) => files.find((one) => one.key === key)?.file ?? [])
}

/** Returns the files that a sub-agent and its own sub-agents sent to people. */
function sentByChild(reply: Reply, at: number): readonly ShownFile[] {
  const own = partsOf(reply).flatMap((part) => filesOfPart(part, reply, false))
  return [
    ...own.map((file) => ({ key: `${reply.sessionID}/${file.id}`, file, at })),
    ...reply.children.flatMap((child) => sentByChild(child.reply, at)),
  ]
}

/** Returns the files of a part that people should see. `showsTools`: also those of other tools than `send_file`. */
function filesOfPart(part: Part, reply: Reply, showsTools: boolean): readonly ReplyFile[] {
  if (part.status === 'abandoned') return []
  if (part.type === 'file') return [part]
  if (part.type !== 'tool' || !part.state.attachments) return []
  const name = nameOf(part, reply)
  const isShown = isSendFile(name) || (showsTools && !readingTools.has(name))
  return isShown ? part.state.attachments : []
}

function nameOf(part: ToolPart, reply: Reply): string {
  return toolFacts(part, reply).name.toLowerCase()
}

/** Returns the name of a file in one line, with hidden characters written out. */
export function nameOfFile(file: ReplyFile): string {
  return oneLine(fileFacts(file).name, 200)
}

/** Returns what the agent says of a file, in one line. Its name if the agent says nothing. */
export function captionOf(file: ReplyFile): string {
  const { caption } = fileFacts(file)
  return caption === undefined ? nameOfFile(file) : oneLine(caption, 900)
}

/** A card, and the number of shown text parts above it. */
interface PlacedCard {
  readonly card: Card
  readonly at: number
}

/**
 * Returns the cards of the reply's files. The first `mostFiles` are posted. Files of one kind that follow each other are
 * an album, if the platform has albums and none of them is posted yet. A file that could not be posted is a note in its place, and
 * the files beyond `mostFiles` are one note at the end. In mode `final`, none before the reply has settled.
 */
export function attachmentCards(reply: Reply, options: ViewOptions): readonly PlacedCard[] {
  const { policy, mode, uploads, texts } = options
  const isSettled = reply.phase === 'settled'
  if (mode === 'final' && !isSettled) return []
  const files = filesToShow(reply, policy)
  const posted = files.slice(0, mostFiles)
  const cards = uploads ? cardsOf(posted, options) : posted.map((one) => untakenNote(one, options))
  const rest = files.slice(mostFiles)
  const last = rest.at(-1)
  if (!isSettled || !last) return cards
  const names = rest.map(({ file }) => nameOfFile(file))
  const source = filesLeftNote(names, names.length, texts)
  const left: Card = { type: 'note', key: unsentRestKey, source, unsent: rest.map(({ key }) => key), names }
  return [...cards, { card: left, at: last.at }]
}

/** Returns the note about files beyond `mostFiles`, in Markdown, with the first `count` of their names. */
export function filesLeftNote(names: readonly string[], count: number, { filesLeft }: Texts): string {
  return italic(filesLeft(names.slice(0, count), mostFiles, names.length - count))
}

/** Returns the cards of files to post. */
function cardsOf(files: readonly ShownFile[], { shown, texts, album = 1 }: ViewOptions): readonly PlacedCard[] {
  const cards: PlacedCard[] = []
  const seen = new Set<string>()
  let open: ShownFile[] = []
  const close = (): void => {
    if (open[0]) cards.push(cardOf(open))
    open = []
  }
  for (const one of files) {
    const known = shown.attachments?.get(one.key)
    if (!known) {
      const [first] = open
      const isTogether = first && first.at === one.at && isPicture(first) === isPicture(one) && open.length < album
      if (!isTogether) close()
      open.push(one)
      continue
    }
    close()
    if (known.failure === undefined) {
      if (!seen.has(known.card)) {
        const members = files.filter(({ key }) => shown.attachments?.get(key)?.card === known.card)
        cards.push({ at: one.at, card: { ...cardOf(members).card, key: known.card } })
      }
      seen.add(known.card)
      continue
    }
    // A part of an album that was refused is tried by itself.
    if (known.isAlbum) cards.push(cardOf([one]))
    else {
      const source = italic(texts.fileUnsent(nameOfFile(one.file), known.failure.forPeople))
      cards.push({ at: one.at, card: { type: 'note', key: unsentKey(one.key), source, unsent: [one.key] } })
    }
  }
  close()
  return cards
}

/** Returns the card that posts these files together. */
function cardOf(files: readonly ShownFile[]): PlacedCard {
  const source = files.map(({ file }) => captionOf(file)).join('\n')
  const key = attachmentKey(files.map((one) => one.key))
  return { at: files[0]?.at ?? 0, card: { type: 'attachment', key, source, files } }
}

/** Returns the note that names a file in a chat that takes none. */
function untakenNote({ key, file, at }: ShownFile, { texts }: ViewOptions): PlacedCard {
  const source = italic(texts.fileUnsent(nameOfFile(file), undefined))
  return { at, card: { type: 'note', key: unsentKey(key), source, unsent: [key] } }
}

/** Whether the file should be a picture, by its type. Pictures and others are in albums of their own. */
function isPicture({ file }: ShownFile): boolean {
  return /^image\/(?:png|jpe?g|webp)$/i.test(file.mime)
}
