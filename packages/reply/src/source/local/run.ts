import type { PermissionReply } from '../../ask.ts'
import { ReplyError } from '../../error.ts'
import type { AskClosedEvent, ReplyEvent } from '../../event.ts'
import type { SessionRef } from '../../session-ref.ts'
import { sentenceOf } from '../../text/sentence.ts'
import type { InputPart } from '../input.ts'
import type { AskList } from '../server-data.ts'
import { createMessages, lastMessage } from './messages.ts'
import type { LocalAnswer, LocalAsk, LocalEnding, LocalOutput } from './output.ts'

/**
 * One run of a session, started by a prompt, as a sub-agent, or by the agent itself (`LocalAgent.wake`). Calls after its
 * end do nothing.
 */
export interface LocalRun extends SessionRef {
  /** The id of the user message that the run answers. After a wake it is the message that tells the reason. */
  readonly promptID: string
  /** Whether it has not ended. */
  isOpen(): boolean
  /**
   * Emits the agent's output, in order. The first call also emits the prompt's message before it. For example
   * `run.write({ type: 'text', delta: 'Hello' })`.
   */
  write(...outputs: readonly LocalOutput[]): void
  /** Asks a person. The reply is blocked until the ask is answered or closed. */
  ask(ask: LocalAsk): void
  /** Closes an ask that the agent withdrew. Its `reply` is not called. */
  closeAsk(requestID: string): void
  /**
   * Begins a sub-agent in its own session. To show it below the call that started it, give that call's `tool` output
   * the name `task` and the session's id in `state.metadata.sessionId`. For a background sub-agent add
   * `background: true` there.
   */
  child(start: LocalChildStart): LocalRun
  /** Ends the run, after its open asks and its sub-agents, except those in the background. */
  end(ending: LocalEnding): void
}

/** Describes a new sub-agent. */
export interface LocalChildStart {
  /** The id of its session. Default: a new id. */
  readonly sessionID?: string | undefined
  /** A short description of its task. */
  readonly title?: string | undefined
  /** The text of its prompt. Default: none. */
  readonly text?: string | undefined
  /**
   * Whether it may go on after the run that started it. You then end it yourself, with `end`. Its asks are shown as long
   * as it runs, and aborting the session cancels it. Default: false.
   */
  readonly background?: boolean | undefined
}

type Pending = AskList['asks'][number]

interface PendingAsk {
  readonly given: LocalAsk
  readonly ask: Pending
}

interface LocalRunSetup extends SessionRef {
  readonly promptID: string
  readonly isBackground: boolean
  readonly nextID: () => string
  readonly now: () => number
  /** The time of messages. Undefined for a run of the past whose time is unknown. */
  readonly messageTime: () => number | undefined
  /** Removes secrets from the messages of failures and retries. */
  readonly redact: (text: string) => string
  readonly emit: (events: readonly ReplyEvent[]) => void
  /** Creates the sub-agent's session and its run, and begins the run. */
  readonly startChild: (start: LocalChildStart) => OwnedRun
  /** Called once, before the run's last events are emitted. Returns whether another run of the session goes on. */
  readonly onEnd: () => boolean
}

/** A run with the calls that only the source makes. */
export interface OwnedRun extends LocalRun {
  /** Whether it is a sub-agent that may outlive the run that began it. */
  readonly isBackground: boolean
  hasBegun(): boolean
  /** Emits the prompt's message and `busy`, once. Output does that too. */
  begin(): void
  setPrompt(parts: readonly InputPart[]): void
  /** The pending asks. */
  asks(): readonly Pending[]
  /** Answers a pending ask. Rejects with `gone` if none has this id. */
  answer(requestID: string, answer: LocalAnswer): Promise<void>
  /** Answers all pending asks of the run and its sub-agents with `canceled`, also those in the background. */
  cancelAsks(): void
}

export function createRun(options: LocalRunSetup): OwnedRun {
  const { sessionID, directory, promptID, nextID, now, emit, redact } = options
  const messages = createMessages(options)
  const pending = new Map<string, PendingAsk>()
  /** Asks whose answer the agent is taking. */
  const answering = new Map<string, { readonly pending: PendingAsk; readonly answer: LocalAnswer }>()
  const children: OwnedRun[] = []
  let prompt: readonly InputPart[] = []
  let state: 'new' | 'running' | 'ending' | 'ended' = 'new'
  let isRetrying = false
  let compactionID: string | undefined
  const own: OwnedRun = {
    sessionID,
    directory,
    promptID,
    isBackground: options.isBackground,
    hasBegun: () => state !== 'new',
    isOpen: () => state !== 'ending' && state !== 'ended',
    begin,
    setPrompt: (parts) => {
      prompt = parts
    },
    write,
    ask,
    closeAsk: (requestID) => void close(requestID, { type: 'gone' }),
    asks: () => [...pending.values()].map((one) => one.ask),
    answer,
    cancelAsks,
    child,
    end,
  }
  return own

  function begin(): void {
    if (state !== 'new') return
    state = 'running'
    const message = {
      id: promptID,
      role: 'user',
      summary: false,
      createdAt: options.messageTime(),
      raw: undefined,
    } as const
    const parts = prompt.map((part, at) => promptPart(part, at)).filter((part) => part !== undefined)
    emit([event({ type: 'message', message }), ...parts, event({ type: 'status', status: 'busy' })])
  }

  function promptPart(part: InputPart, at: number): ReplyEvent | undefined {
    const fields = { id: `${promptID}.${at + 1}`, messageID: promptID, status: 'sealed', raw: undefined } as const
    if (part.type === 'text') {
      const synthetic = part.synthetic === true ? true : undefined
      return event({ type: 'part', part: { ...fields, type: 'text', text: part.text, synthetic } })
    }
    if (part.type !== 'file') return undefined
    const { mime, url, filename } = part
    return event({ type: 'part', part: { ...fields, type: 'file', mime, url, filename } })
  }

  function write(...outputs: readonly LocalOutput[]): void {
    if (!own.isOpen()) return
    begin()
    const events = outputs.flatMap((output) => {
      const resumed = isRetrying && output.type !== 'retry' ? [event({ type: 'status', status: 'busy' })] : []
      isRetrying = output.type === 'retry'
      return [...resumed, ...eventsOf(output)]
    })
    if (events.length > 0) emit(events)
  }

  function eventsOf(output: LocalOutput): readonly ReplyEvent[] {
    switch (output.type) {
      case 'text':
      case 'reasoning':
      case 'tool':
      case 'file':
      case 'usage':
        return messages.put(output)
      case 'seal':
        return messages.seal(output.raw)
      case 'message':
        return messages.begin({ id: output.messageID, agent: output.agent, model: output.model })
      case 'todos':
        return [event({ type: 'todos', todos: output.todos, ...(!output.isRead && { isOwn: true }) })]
      case 'title':
        return [event({ type: 'session', title: output.title })]
      case 'context-limit':
        return [event({ type: 'context-limit', contextLimit: output.contextLimit })]
      case 'retry': {
        const { attempt, message, nextAt } = output
        return [event({ type: 'retry', attempt, message: sentenceOf(redact(message)), nextAt })]
      }
      case 'compaction':
        return compactionEvents(output.state, output.auto)
      default:
        return output satisfies never
    }
  }

  function compactionEvents(to: 'started' | 'done' | 'failed', auto: boolean): readonly ReplyEvent[] {
    const known = compactionID
    compactionID = undefined
    if (to === 'done') return [event({ type: 'compacted' })]
    if (to === 'failed') return known === undefined ? [] : removedCompaction(known)
    const id = nextID()
    compactionID = id
    const message = { id, role: 'user', summary: false, createdAt: options.messageTime(), raw: undefined } as const
    const part = { id: `${id}.1`, messageID: id, status: 'sealed', raw: undefined, type: 'compaction', auto } as const
    // What follows belongs to the next message, because the compaction's comes first.
    return [...messages.complete(), event({ type: 'message', message }), event({ type: 'part', part })]
  }

  function removedCompaction(messageID: string): readonly ReplyEvent[] {
    const partID = `${messageID}.1`
    return [event({ type: 'part-removed', messageID, partID }), event({ type: 'message-removed', messageID })]
  }

  function ask(given: LocalAsk): void {
    if (!own.isOpen()) return
    begin()
    const { reply: _, ...content } = given
    const fields = { sessionID, directory, path: [sessionID], status: 'pending', askedAt: now() } as const
    const asked: Pending = { ...fields, ...content }
    pending.set(given.requestID, { given, ask: asked })
    emit([event({ type: 'asked', ask: asked })])
  }

  function close(requestID: string, how: AskClosedEvent['how']): void {
    if (pending.delete(requestID)) emit([event({ type: 'ask-closed', requestID, how })])
  }

  async function answer(requestID: string, answer: LocalAnswer): Promise<void> {
    const found = pending.get(requestID)
    if (!found)
      throw new ReplyError('gone', `The ask ${requestID} is no longer pending, so there is nothing to answer.`)
    pending.delete(requestID)
    answering.set(requestID, { pending: found, answer })
    try {
      await found.given.reply(answer)
    } catch (error) {
      // The agent didn't take the answer, so the ask can be answered again.
      if (answering.delete(requestID) && state !== 'ended') pending.set(requestID, found)
      throw error
    }
    closeAnswered(requestID)
  }

  /** Emits that an ask was answered. Once, because the answer may end the run before the agent has confirmed it. */
  function closeAnswered(requestID: string): void {
    const found = answering.get(requestID)
    if (!found) return
    answering.delete(requestID)
    emit([event({ type: 'ask-closed', requestID, how: howOf(found.pending.ask, found.answer) })])
  }

  function cancelAsks(): void {
    for (const each of children) each.cancelAsks()
    cancelOwnAsks()
  }

  function cancelOwnAsks(): void {
    for (const [requestID, { given }] of [...pending]) {
      // Closed first, because the agent may end the run as soon as it has the answer.
      close(requestID, given.type === 'permission' ? { type: 'permission', reply: 'reject' } : { type: 'rejected' })
      // The run has ended or is about to, so a rejection changes nothing.
      void (async () => await given.reply({ type: 'canceled' }))().catch(() => {})
    }
  }

  function child(start: LocalChildStart): LocalRun {
    begin()
    const made = options.startChild(start)
    children.push(made)
    return made
  }

  function end(ending: LocalEnding): void {
    if (state === 'ended' || state === 'ending') return
    begin()
    state = 'ending'
    for (const each of children) if (!each.isBackground) each.end(ending)
    for (const requestID of [...answering.keys()]) closeAnswered(requestID)
    cancelOwnAsks()
    state = 'ended'
    const isBusy = options.onEnd()
    // `idle` during a retry would count as aborted, but the agent reported another end.
    const resumed = isRetrying ? [event({ type: 'status', status: 'busy' })] : []
    const unfinished = compactionID === undefined ? [] : removedCompaction(compactionID)
    const last = messages.end(lastMessage(ending, redact))
    const idle = isBusy ? [] : [event({ type: 'status', status: 'idle' })]
    emit([...resumed, ...unfinished, ...last, ...idle])
  }

  function event<const T extends { readonly type: ReplyEvent['type'] }>(what: T) {
    return { sessionID, directory, at: now(), ...what }
  }
}

function howOf({ type }: Pending, answer: LocalAnswer): AskClosedEvent['how'] {
  if (answer.type === 'answered') return { type: 'answered', answers: answer.answers }
  if (type === 'question') return { type: 'rejected' }
  const reply: PermissionReply = answer.type === 'once' || answer.type === 'always' ? answer.type : 'reject'
  return { type: 'permission', reply }
}
