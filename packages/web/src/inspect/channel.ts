/** What one channel shows of a recording: each call that its real sink makes, played with the recorded times. */
export interface ChannelLog {
  /** Identifies the channel, for example `telegram-group`. */
  readonly name: string
  /** Its name for people. */
  readonly title: string
  /** The most that a message may hold, in the unit of `ChannelText.length`. */
  readonly maxLength: number
  /** Whether its texts are lines of a terminal. Otherwise they are Markdown. */
  readonly isTerminal: boolean
  /** The rate limits that its sink keeps to. */
  readonly budgets: readonly ChannelBudget[]
  /** In the order in which they began. */
  readonly calls: readonly ChannelCall[]
  /** Whether later calls are left out, because there are too many. */
  readonly isCut: boolean
}

/** A number of calls per time. */
export interface ChannelBudget {
  /** `chat`: all calls of a chat. `client`: those of all chats. Otherwise the kind of calls that it counts apart. */
  readonly of: string
  /** Whether it counts the calls of all chats. */
  readonly isShared: boolean
  /** The most calls within any `perMs`. */
  readonly calls: number
  /** In ms. */
  readonly perMs: number
}

/** A text as a channel gets it. */
export interface ChannelText {
  /** The Markdown that it was made of. */
  readonly source: string
  /** In the platform's own markup. */
  readonly text: string
  /** Its length in the unit of `ChannelLog.maxLength`. */
  readonly length: number
  /** The labels of its buttons, by rows. */
  readonly buttons: readonly (readonly string[])[]
}

/** One call of the sink to the channel's port. */
export interface ChannelCall {
  /** The root session whose chat it is made in. Each session has a chat of its own. */
  readonly sessionID: string
  /** When it began, in ms since the epoch. */
  readonly at: number
  /** The method of the port: `post`, `edit`, `remove`, `typing`, `upload`, `preview`, `open`, `append`, `close`, `react`. A terminal has only `write`. */
  readonly kind: string
  /** The calls to the platform that it makes: `sendMessage`, `chat.update`. */
  readonly platform: readonly string[]
  /** The message that it makes or changes. Absent for a typing notice and a preview. */
  readonly message?: string | undefined
  /** With `post`, `edit` and `preview`: the whole content. */
  readonly content?: ChannelText | undefined
  /** With `open`, `append`, `close` and `write`: the text that is added. */
  readonly added?: string | undefined
  /** With `open`, `append` and `close`: tasks, one per line. */
  readonly tasks?: readonly { readonly id: string; readonly title: string; readonly status: string }[] | undefined
  /** With `post`, `open` and `upload`: whether it notifies no one. */
  readonly isSilent?: boolean | undefined
  /** With `upload`: the names of the files. */
  readonly files?: readonly string[] | undefined
  /** With `typing`: whether the notice is shown from now on. */
  readonly isOn?: boolean | undefined
}

/** A message of a chat at a moment. */
export interface ChatMessage {
  /** As the channel identifies it. */
  readonly id: string
  /** Absent for a stream and for files. */
  readonly content?: ChannelText | undefined
  /** The text of a stream so far, in the platform's markup. */
  readonly streamed?: string | undefined
  /** The calls that a stream lists, each as it was sent last. */
  readonly tasks: readonly { readonly id: string; readonly title: string; readonly status: string }[]
  /** The names of its files. */
  readonly files: readonly string[]
  /** Whether it notified no one. */
  readonly isSilent: boolean
  /** How many times it was edited or grew. */
  readonly changes: number
  /** When it was posted, in ms since the epoch. */
  readonly postedAt: number
  /** When it changed last, in ms since the epoch. */
  readonly changedAt: number
}

/** A chat at a moment. */
export interface ChatPicture {
  /** Oldest first. */
  readonly messages: readonly ChatMessage[]
  /** What a preview shows. Undefined if there is none. */
  readonly preview?: ChannelText | undefined
  /** Whether the typing notice is shown. */
  readonly isTyping: boolean
  /** How many calls of each kind were made so far. */
  readonly counts: readonly (readonly [kind: string, count: number])[]
  /** How many calls of each budget are used up. */
  readonly used: readonly number[]
}

/** Returns what the chat of a session shows at a time. */
export function chatAt(log: ChannelLog, sessionID: string, at: number): ChatPicture {
  const made = log.calls.filter((call) => call.at <= at)
  const own = made.filter((call) => call.sessionID === sessionID)
  const messages = new Map<string, ChatMessage>()
  const counts = new Map<string, number>()
  let preview: ChannelText | undefined
  let isTyping = false
  for (const call of own) {
    counts.set(call.kind, (counts.get(call.kind) ?? 0) + 1)
    if (call.kind === 'typing') isTyping = call.isOn === true
    else if (call.kind === 'preview') preview = call.content
    else if (call.message !== undefined) {
      const before = messages.get(call.message)
      if (call.kind === 'remove') messages.delete(call.message)
      else messages.set(call.message, before ? changedMessage(before, call) : newMessage(call.message, call))
      // Platforms end a preview and the typing notice with the next message.
      if (!before) {
        preview = undefined
        isTyping = false
      }
    }
  }
  return {
    messages: [...messages.values()],
    ...(preview && { preview }),
    isTyping,
    counts: [...counts],
    used: log.budgets.map((budget) => usedOf(budget, log, budget.isShared ? made : own, at)),
  }
}

function newMessage(id: string, call: ChannelCall): ChatMessage {
  return {
    id,
    ...(call.content && { content: call.content }),
    ...(call.added !== undefined && { streamed: call.added }),
    tasks: call.tasks ?? [],
    files: call.files ?? [],
    isSilent: call.isSilent === true,
    changes: 0,
    postedAt: call.at,
    changedAt: call.at,
  }
}

function changedMessage(before: ChatMessage, call: ChannelCall): ChatMessage {
  if (call.kind === 'react') return before
  const changed = { ...before, changes: before.changes + 1, changedAt: call.at }
  // An edit of a stream that was closed replaces it.
  if (call.content) return { ...changed, content: call.content, streamed: undefined }
  const tasks = new Map([...before.tasks, ...(call.tasks ?? [])].map((task) => [task.id, task]))
  return { ...changed, streamed: (before.streamed ?? '') + (call.added ?? ''), tasks: [...tasks.values()] }
}

/** How many of the calls count against the budget at that time. */
function usedOf(budget: ChannelBudget, { budgets }: ChannelLog, calls: readonly ChannelCall[], at: number): number {
  const apart = new Set(budgets.map(({ of }) => of))
  const counts = ({ kind }: ChannelCall): boolean =>
    apart.has(kindOfCall(kind))
      ? kindOfCall(kind) === budget.of
      : (budget.of === 'chat' || budget.of === 'client') && kind !== 'typing'
  return calls.filter((call) => call.at > at - budget.perMs && counts(call)).length
}

/** Uploads count as posts. */
function kindOfCall(kind: string): string {
  return kind === 'upload' ? 'post' : kind
}
