/** A chat as the page shows it, as JSON. The page builds its elements only from this. */
export interface ChatView {
  /** The chat's name in the bridge's config, and in the page's addresses. */
  readonly name: string
  readonly platform: Platform
  /** What the chat's members call it. */
  readonly title: string
  readonly people: readonly PersonView[]
  /** The people, the bot and what the fake platform shows of them, in order. */
  readonly messages: readonly MessageView[]
  /** The platform's indicator, for example "is typing…". Empty if there is none. */
  readonly status: string
  /** Whether a run can be stopped. */
  readonly isWorking: boolean
  /** The threads in which people can write, newest last. Empty on platforms without threads. */
  readonly threads: readonly ThreadView[]
  /** Dialogs that people have open. */
  readonly dialogs: readonly DialogView[]
}

/** The platforms that the page can show. */
export type Platform = 'telegram' | 'slack' | 'discord' | 'whatsapp'

/** A person who can write in a chat. */
export interface PersonView {
  /** The name in the bridge's config. */
  readonly id: string
  readonly name: string
  /** A description of their rights. */
  readonly may: string
}

/** A thread of a chat. */
export interface ThreadView {
  readonly id: string
  readonly title: string
}

/** A message as its fake platform shows it. */
export interface MessageView {
  readonly id: string
  /** The name of its author. */
  readonly author: string
  readonly isBot: boolean
  /** When the page's server first saw it, in ms since the epoch. */
  readonly at: number
  readonly body: readonly Markup[]
  /** Steps of a stream. */
  readonly tasks: readonly TaskView[]
  readonly rows: readonly (readonly ControlView[])[]
  readonly file?: FileView | undefined
  readonly reactions: readonly string[]
  /** Notes of the platform, for example edited, silent, or visible to one person. */
  readonly notes: readonly string[]
  /** Whether it is still being written. */
  readonly isLive: boolean
  /** The id of the thread that it answers in. Absent outside of threads, and for a thread's first message. */
  readonly thread?: string | undefined
}

/** A step of a streamed message. */
export interface TaskView {
  readonly title: string
  readonly status: 'pending' | 'running' | 'done' | 'failed'
  readonly details: string
}

/** A button, or an option of a select. */
export interface ControlView {
  readonly label: string
  readonly style: 'plain' | 'primary' | 'danger'
  /** The options of a select. Empty for a button. */
  readonly options: readonly string[]
}

/** A file of a message. */
export interface FileView {
  readonly name: string
  readonly bytes: number
}

/** A dialog that one person has open. */
export interface DialogView {
  readonly person: string
  readonly title: string
  readonly fields: readonly FieldView[]
}

/** A field of a dialog. */
export interface FieldView {
  readonly label: string
  readonly type: 'text' | 'one' | 'several'
  readonly options: readonly string[]
  readonly isOptional: boolean
}

/** An update for a page: the chat without its messages, and the messages that are new or changed. */
export interface ChatUpdate extends Omit<ChatView, 'messages'> {
  /** The ids of all its messages, in order. */
  readonly order: readonly string[]
  readonly changed: readonly MessageView[]
}

/** A prompt that the page offers. */
export interface Suggestion {
  readonly label: string
  readonly prompt: string
}

/** Elements that a message may consist of. The page makes no others. */
export const markupTags = [
  ...(['p', 'lines', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'hr'] as const),
  ...(['strong', 'em', 'del', 'u', 'small', 'spoiler', 'mention', 'a', 'br', 'check'] as const),
  ...(['table', 'thead', 'tbody', 'tr', 'th', 'td'] as const),
] as const

/** The tag of an element. */
export type MarkupTag = (typeof markupTags)[number]

/** Formatted text: a string is shown as it is. */
export type Markup = string | MarkupElement

/** An element with the fields that its tag needs. */
export interface MarkupElement {
  readonly tag: MarkupTag
  readonly children: readonly Markup[]
  /** Of a link; begins with http, https or mailto. */
  readonly href?: string
  /** Of a code block. */
  readonly language?: string
  /** Of a table's cell. */
  readonly align?: 'left' | 'center' | 'right'
  /** Of a checkbox. */
  readonly isChecked?: boolean
  /** Of an ordered list. */
  readonly start?: number
}

/** Returns an element. `more` are the fields that its tag needs. */
export function element(
  tag: MarkupTag,
  children: readonly Markup[] = [],
  more: Partial<MarkupElement> = {},
): MarkupElement {
  return { tag, children, ...more }
}

/**
 * Returns a link if its address is http, https without credentials, or mailto. Otherwise returns its text as a mention.
 */
export function link(href: string, children: readonly Markup[]): Markup {
  if (/^(?:https?:\/\/(?![^/?#]*@)|mailto:)/i.test(href)) return element('a', children, { href })
  return element('mention', children)
}

/** Returns a text without formats, after the mention that it begins with. Empty for an empty text, without the mention. */
export function plain(text: string, mention?: string): readonly Markup[] {
  const before = mention === undefined ? [] : [element('mention', [mention]), ' ']
  return text === '' ? [] : [element('lines', [...before, text])]
}
