import type { AskDetail, ReplyFile } from '@reply/core'
import type { Button, Form } from '../port/port.ts'
import type { Guard } from './guard.ts'

/** A text that is too long for messages and is posted as a file. */
export interface TextFile {
  /** Its name, which need not be safe. */
  readonly name: string
  /** Its content. */
  readonly text: string
  /** A line of plain text to show with it. */
  readonly caption: string
}

/** A file of a reply to post. */
export interface AttachedFile {
  /** Unique among the files of the reply and its sub-agents, and the same after a restart. */
  readonly key: string
  readonly file: ReplyFile
}

interface CardFields {
  /** Identifies the card within its reply, for as long as the reply is shown. */
  readonly key: string
  /** In Markdown. */
  readonly source: string
  /** The shown text parts above this card. Set if later text continues below it. */
  readonly before?: readonly string[] | undefined
}

/**
 * A piece of content that people should see.
 *
 * An `answer` is a stretch of the assistant's text. A `status` is removed once it is unwanted. All other cards stay.
 */
export type Card =
  | (CardFields & {
      readonly type: 'answer'
      /** More text may come, and the last part may still change. */
      readonly isOpen: boolean
      /** The chat shows a part of it that is not known here, so its messages stay as they are. */
      readonly isUnknown?: true | undefined
      /** It ends a run that people of the chat stopped, so its last message does not notify. */
      readonly isSilent?: true | undefined
    })
  | (CardFields & {
      readonly type: 'status'
      /** A link behind the line, in Markdown. Absent if there is none. */
      readonly link?: string | undefined
      /** It has no message of its own, and goes below growing text. */
      readonly isOnlyBelow?: true | undefined
    })
  | (CardFields & {
      readonly type: 'ask'
      readonly buttons: readonly (readonly Button[])[]
      readonly form?: Form | undefined
      readonly isPending: boolean
      /** Set for a permission: its content, over as many messages as it takes. */
      readonly content?: AskContent | undefined
      /** It is outdated, so its last message loses its buttons. */
      readonly isRetired?: true | undefined
    })
  | (CardFields & { readonly type: 'notice'; readonly reported: readonly string[] })
  | (CardFields & { readonly type: 'heartbeat' | 'todos' | 'reasoning' })
  | (CardFields & {
      readonly type: 'note'
      /** Set if it stands in place of files that are not posted: their keys. It then is as important as they are. */
      readonly unsent?: readonly string[] | undefined
      /** Set if it lists these files by their names. It names fewer if not all fit a message. */
      readonly names?: readonly string[] | undefined
      readonly buttons?: readonly (readonly Button[])[] | undefined
    })
  /** Files of the reply in one post: an album, or a single one. */
  | (CardFields & { readonly type: 'attachment'; readonly files: readonly AttachedFile[] })
  | (CardFields & { readonly type: 'file'; readonly file: TextFile })
  /** How the reply ended, if it needs saying. */
  | (CardFields & {
      readonly type: 'ending'
      readonly isFailure: boolean
      readonly buttons?: readonly (readonly Button[])[] | undefined
    })

export type AnswerCard = Extract<Card, { type: 'answer' }>

export type AskCard = Extract<Card, { type: 'ask' }>

/** The kind of content that a message of a reply shows. */
export type CardType = Card['type']

/** Everything that a permission shows. None of it is ever shortened. */
export interface AskContent {
  /** In Markdown, one line. */
  readonly head: string
  /** The same line with the command, for a message that has none of the details. It may be shortened. */
  readonly summary: string
  readonly details: readonly (AskDetail | AskNote)[]
  /** Diffs of more UTF-16 units are posted as a file. Undefined if the port has no `upload`. */
  readonly documentLength: number | undefined
  /** Shown below the content once all of it is on the screen. */
  readonly open: AskFoot
  /** Shown below the content until then. */
  readonly closed: AskFoot
}

/** A sentence among the details, in Markdown. It is not cut. */
export interface AskNote {
  readonly format: 'note'
  readonly text: string
}

/** The end of the last message of a permission. */
export interface AskFoot {
  /** In Markdown. May be empty. */
  readonly source: string
  readonly buttons: readonly (readonly Button[])[]
  /** Whether one of the buttons allows something. */
  readonly isAllowing: boolean
}

/** The part of a ledger that a view needs. */
export interface Shown {
  /** The positions of posted cards that stay, oldest first. */
  readonly breaks: readonly Break[]
  /** Cards with at least one posted message. A file counts once it is certainly there. */
  readonly posted: ReadonlySet<string>
  /** How far each answer was posted, in UTF-16 units of its source. */
  readonly ends?: ReadonlyMap<string, number> | undefined
  /** Cards whose posts were all refused, and files whose posts have no result. */
  readonly lost?: ReadonlySet<string> | undefined
  /** The posts of files, by the keys of the files. Default: none. */
  readonly attachments?: ReadonlyMap<string, PostedFile> | undefined
  /** Whether a message of an answer is missing or may be. Default false. */
  readonly isIncomplete?: boolean | undefined
  /** Requests of asks with at least one posted message, of this content or an earlier one. */
  readonly requests: ReadonlySet<string>
  /** Calls that notices reported, as `partID:status`. */
  readonly reported: ReadonlySet<string>
  readonly noticeAt?: number | undefined
  readonly noticeCount: number
  /** When anything was last posted, and when a notifying message was (`loudAt`). */
  readonly postedAt?: number | undefined
  readonly loudAt?: number | undefined
  readonly heartbeats: number
  readonly asks: ReadonlyMap<string, AskState>
}

/** The post of a file, which may still be under way. */
export interface PostedFile {
  /** The key of its card. */
  readonly card: string
  /** Whether other files are in the same post. */
  readonly isAlbum: boolean
  /** Set if the post failed. `forPeople` says why, if that is a sentence for people. */
  readonly failure?: { readonly forPeople: string | undefined } | undefined
}

export interface Break {
  readonly key: string
  /** The shown text parts above it. */
  readonly before: readonly string[]
}

/** The progress of an ask in the chat. Serialisable as JSON. */
export interface AskState {
  /** The answers to its questions so far. */
  readonly answers: readonly (readonly string[])[]
  /** Set for a multiple-choice question: the options picked so far. */
  readonly picked: readonly string[]
  /** The name of the person who answered. */
  readonly by?: string | undefined
  /** Set for a permission: the digest of its content. */
  readonly digest?: string | undefined
  /** Set for a permission: whether the call's input was part of that content. */
  readonly isInputKnown?: boolean | undefined
  /** When the sink first saw it, in ms since the epoch. */
  readonly seenAt?: number | undefined
  /** Who may answer. Absent until a sink restricts it. */
  readonly guard?: Guard | undefined
  /** Whether its message explains why nothing can be allowed in this chat. Only one ask of a chat does. */
  readonly isExplained?: boolean | undefined
}
