import type { Part, Reply } from '@reply/core'
import type { GrowingText } from '../ledger/ledger.ts'

/** What is known of texts whose words may be missing. */
export interface HoleOptions {
  /** The text that an earlier process was showing when it ended. */
  readonly former: GrowingText | undefined
  /** Stands where words may be missing. */
  readonly mark: string
  /** Whether a text that is open may be shown beyond its first hole. Not where posted text stays. */
  readonly showsBeyond: boolean
}

/** A reply as people should see it. */
interface WholeReply {
  readonly reply: Reply
  /** The part that the chat shows the beginning of, which is not known here. */
  readonly unknownPartID?: string | undefined
}

/**
 * Returns the reply with what is known of its texts: the beginning that an earlier process has shown, and a mark where words may
 * be missing. The same reply if no text has a hole.
 */
export function withoutHoles(reply: Reply, options: HoleOptions): WholeReply {
  if (!reply.messages.some(({ parts }) => parts.some(hasHole))) return { reply }
  const { former } = options
  let unknownPartID: string | undefined
  const messages = reply.messages.map((message) => {
    if (!message.parts.some(hasHole)) return message
    return { ...message, parts: message.parts.map(withKnownText) }
  })
  return { reply: { ...reply, messages }, unknownPartID }

  function withKnownText(part: Part): Part {
    if ((part.type !== 'text' && part.type !== 'reasoning') || part.holes === undefined) return part
    const isFormer = former?.partID === part.id && part.holes[0] === 0
    if (isFormer && former.text === undefined) unknownPartID = part.id
    const isWhole = options.showsBeyond || part.status !== 'open'
    const ends = [...part.holes, ...(isWhole ? [part.text.length] : [])]
    const pieces = ends.map((end, index) => part.text.slice(index === 0 ? 0 : part.holes?.[index - 1], end))
    const [first = '', ...others] = pieces
    if (isFormer && former.text !== undefined) {
      const [heard = '', ...more] = others
      return { ...part, text: joinAll(continued(former.text, heard, options.mark), more) }
    }
    // One that is too long to be kept is not shown, but must not be blank.
    return { ...part, text: joinAll(isFormer ? '…' : first, others) }
  }

  function joinAll(beginning: string, others: readonly string[]): string {
    return others.reduce((text, piece) => joined(text, piece, options.mark), beginning)
  }
}

/** How many characters the end of a text and what was heard have in common at least if they overlap. Fewer may be alike by chance. */
const leastOverlap = 16

/**
 * Returns the text that an earlier process has shown, with what this one has heard. That may begin before the end of the text,
 * because a process hears the runs of a server that it watches, also those that another one shows.
 */
function continued(shown: string, heard: string, mark: string): string {
  for (let from = 0; from < shown.length; from++) {
    const rest = shown.slice(from)
    if (rest.startsWith(heard)) return shown
    if (rest.length >= leastOverlap && heard.startsWith(rest)) return shown + heard.slice(rest.length)
  }
  return joined(shown, heard, mark)
}

function hasHole(part: Part): boolean {
  return part.holes !== undefined
}

/** Joins two pieces of a text by the mark. The first stays as it is, because the chat may show it. */
function joined(before: string, after: string, mark: string): string {
  if (after.trim() === '') return before
  const marked = before === '' || /\s$/.test(before) ? mark : ` ${mark}`
  return `${before}${marked}${/^\s/.test(after) ? '' : ' '}${after}`
}
