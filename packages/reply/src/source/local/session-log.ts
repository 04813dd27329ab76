import type { ReplyEvent } from '../../event.ts'
import type { Part } from '../../part.ts'
import type { Todo } from '../../reply.ts'
import { promptText } from '../../track/written-text.ts'
import type { MessageRead, WorkStatus } from '../port.ts'

/** How many runs a session's log keeps. A reply that is found again after a restart is one of the last. */
const keptRuns = 3

/** Stores the messages of a session's last runs, its to-do list and its status, from the events that were emitted for it. */
export interface SessionLog {
  /** Adds the events of this run: its messages, and the session's to-do list and status. Drops the oldest run if needed. */
  apply(promptID: string, events: readonly ReplyEvent[]): void
  /** Stores that the run has started this sub-agent, whose log is dropped with the run. */
  addChild(promptID: string, sessionID: string): void
  /** Counts the prompts with this text, also those of dropped runs. White space at both ends doesn't count. */
  countPrompts(text: string): number
  /** Returns the messages of the kept runs, in their order. */
  messages(): readonly MessageRead[]
  /** Returns the session's to-do list. Empty if it has none. */
  todos(): readonly Todo[]
  /** Returns the session's status. Undefined while it is idle. */
  working(): WorkStatus | undefined
  /** Whether no run was dropped. */
  isWhole(): boolean
  /**
   * Returns a log with the same runs, up to before this message. Without a message it has all of them and the to-do list.
   * Undefined if no kept message has this id.
   */
  copy(before: string | undefined): SessionLog | undefined
}

interface LoggedMessage {
  head: MessageRead['head']
  readonly parts: Map<string, Part>
}

interface LoggedRun {
  readonly messages: Map<string, LoggedMessage>
  readonly childIDs: string[]
}

/**
 * Creates the empty log of a session: what a local agent's events have shown of its last runs, to be read as a snapshot.
 * `onChildDropped` is called for each sub-agent of a run that was dropped. `isWhole` is false if the
 * session has earlier runs, and `droppedPrompts` counts their prompts by the text.
 */
export function createSessionLog(
  onChildDropped: (sessionID: string) => void,
  isWhole = true,
  droppedPrompts = new Map<string, number>(),
): SessionLog {
  /** By the id of the prompt, in the order in which they began. */
  const runs = new Map<string, LoggedRun>()
  let todos: readonly Todo[] = []
  let working: WorkStatus | undefined
  return {
    apply: (promptID, events) => {
      for (const event of events) applyEvent(promptID, event)
    },
    addChild: (promptID, sessionID) => void runs.get(promptID)?.childIDs.push(sessionID),
    countPrompts: (text) => {
      const kept = [...runs.values()].flatMap(promptTextsOf).filter((each) => each === text.trim())
      return kept.length + (droppedPrompts.get(text.trim()) ?? 0)
    },
    messages: () => [...runs.values()].flatMap(({ messages }) => [...messages.values()].map(toMessageRead)),
    todos: () => todos,
    working: () => working,
    isWhole: () => isWhole,
    copy,
  }

  /** Returns a log with the runs up to before this message, or with all and the to-do list. Undefined without this message. */
  function copy(before: string | undefined): SessionLog | undefined {
    const log = createSessionLog(onChildDropped, isWhole, new Map(droppedPrompts))
    for (const [promptID, { messages }] of runs)
      for (const { head, parts } of messages.values()) {
        if (head.id === before) return log
        log.apply(promptID, [{ type: 'message', message: head, sessionID: '', at: 0 }])
        log.apply(
          promptID,
          [...parts.values()].map((part) => ({ type: 'part', part, sessionID: '', at: 0 })),
        )
      }
    if (before !== undefined) return undefined
    log.apply('', [{ type: 'todos', todos, sessionID: '', at: 0 }])
    return log
  }

  /** Updates the messages, the to-do list or the status from an event of this run. Ignores all other events. */
  function applyEvent(promptID: string, event: ReplyEvent): void {
    switch (event.type) {
      case 'message':
        storeHead(promptID, event.message)
        break
      case 'part':
        partsOf(promptID, event.part.messageID)?.set(event.part.id, event.part)
        break
      case 'delta':
        appendDelta(partsOf(promptID, event.messageID), event.partID, event.delta)
        break
      case 'part-removed':
        partsOf(promptID, event.messageID)?.delete(event.partID)
        break
      case 'message-removed':
        runs.get(promptID)?.messages.delete(event.messageID)
        break
      case 'todos':
        todos = event.todos
        break
      case 'status':
        working = event.status === 'busy' ? { status: 'busy' } : undefined
        break
      case 'retry': {
        const { attempt, message, nextAt } = event
        working = { status: 'retry', retry: { attempt, message, nextAt } }
        break
      }
    }
  }

  /** Replaces the head of a message, or adds the message without parts. Adds its run first if that is new. */
  function storeHead(promptID: string, head: MessageRead['head']): void {
    const run = runs.get(promptID) ?? addRun(promptID)
    const known = run.messages.get(head.id)
    if (known) known.head = head
    else run.messages.set(head.id, { head, parts: new Map() })
  }

  /** Adds an empty run. Drops the oldest runs beyond `keptRuns`, and calls `onChildDropped` for their sub-agents. */
  function addRun(promptID: string): LoggedRun {
    const run: LoggedRun = { messages: new Map(), childIDs: [] }
    runs.set(promptID, run)
    for (const [id, dropped] of runs) {
      if (runs.size <= keptRuns) break
      runs.delete(id)
      isWhole = false
      for (const text of promptTextsOf(dropped)) droppedPrompts.set(text, (droppedPrompts.get(text) ?? 0) + 1)
      for (const childID of dropped.childIDs) onChildDropped(childID)
    }
    return run
  }

  /** Returns the stored parts of a message, by their ids, to be changed in place. Undefined for an unknown message. */
  function partsOf(promptID: string, messageID: string): Map<string, Part> | undefined {
    return runs.get(promptID)?.messages.get(messageID)?.parts
  }
}

/** Returns the texts of a run's prompts: one, or more if others joined it. Empty if the agent began it by itself. */
function promptTextsOf({ messages }: LoggedRun): readonly string[] {
  return [...messages.values()].flatMap((message) => promptText(toMessageRead(message)) ?? [])
}

/** Copies a logged message to what `Source` returns. */
function toMessageRead({ head, parts }: LoggedMessage): MessageRead {
  return { head, parts: [...parts.values()] }
}

/** Appends the delta to a text or reasoning part. Does nothing for other parts and unknown ones. */
function appendDelta(parts: Map<string, Part> | undefined, partID: string, delta: string): void {
  const part = parts?.get(partID)
  if (part?.type === 'text' || part?.type === 'reasoning') parts?.set(partID, { ...part, text: part.text + delta })
}
