import type { PermissionReply } from '../../ask.ts'
import { ReplyError } from '../../error.ts'
import type { AskClosedEvent, ReplyEvent } from '../../event.ts'
import type { SessionRef } from '../../session-ref.ts'
import { sentenceOf } from '../../text/sentence.ts'
import type { InputPart } from '../input.ts'
import type { AskList } from '../server-data.ts'
import { createMessages, lastMessage } from './messages.ts'
import type { LocalAnswer, LocalAsk, LocalEnding, LocalOutput } from './output.ts'

/** One run of a session, started by a prompt or as a sub-agent. Calls after its end do nothing. */
export interface LocalRun extends SessionRef {
  /** The id of the user message that the run answers. */
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
   * the name `task` and the session's id in `state.metadata.sessionId`.
   */
  child(start: LocalChildStart): LocalRun
  /** Ends the run, after its open sub-agents and asks. */
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
}

type Pending = AskList['asks'][number]

interface LocalRunSetup extends SessionRef {
  readonly promptID: string
  readonly nextID: () => string
  readonly now: () => number
  /** Removes secrets from the messages of failures and retries. */
  readonly redact: (text: string) => string
  readonly emit: (events: readonly ReplyEvent[]) => void
  /** Creates the sub-agent's session and its run, and begins the run. */
  readonly startChild: (start: LocalChildStart) => OwnedRun
  /** Called once, before the run's last events are emitted. */
  readonly onEnd: () => void
}

/** A run with the calls that only the source makes. */
export interface OwnedRun extends LocalRun {
  hasBegun(): boolean
  /** Emits the prompt's message and `busy`, once. Output does that too. */
  begin(): void
  setPrompt(parts: readonly InputPart[]): void
  asks(): readonly Pending[]
  /** Answers a pending ask. Rejects with `gone` if none has this id. */
  answer(requestID: string, answer: LocalAnswer): Promise<void>
  /** Answers all pending asks of the run and its sub-agents with `canceled`. */
  cancelAsks(): void
}

export function createRun(options: LocalRunSetup): OwnedRun {
  const { sessionID, directory, promptID, nextID, now, emit, redact } = options
  const messages = createMessages(options)
  const pending = new Map<string, { readonly given: LocalAsk; readonly ask: Pending }>()
  const children: OwnedRun[] = []
  let prompt: readonly InputPart[] = []
  let state: 'new' | 'running' | 'ended' = 'new'
  let isRetrying = false
  let compactionID: string | undefined
  const own: OwnedRun = {
    sessionID,
    directory,
    promptID,
    hasBegun: () => state !== 'new',
    isOpen: () => state !== 'ended',
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
    const message = { id: promptID, role: 'user', summary: false, createdAt: now(), raw: undefined } as const
    const parts = prompt.map((part, at) => promptPart(part, at)).filter((part) => part !== undefined)
    emit([event({ type: 'message', message }), ...parts, event({ type: 'status', status: 'busy' })])
  }

  function promptPart(part: InputPart, at: number): ReplyEvent | undefined {
    const fields = { id: `${promptID}.${at + 1}`, messageID: promptID, status: 'sealed', raw: undefined } as const
    if (part.type === 'text') return event({ type: 'part', part: { ...fields, type: 'text', text: part.text } })
    if (part.type !== 'file') return undefined
    const { mime, url, filename } = part
    return event({ type: 'part', part: { ...fields, type: 'file', mime, url, filename } })
  }

  function write(...outputs: readonly LocalOutput[]): void {
    if (state === 'ended') return
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
    if (to === 'failed')
      return known === undefined ? [] : [event({ type: 'part-removed', messageID: known, partID: `${known}.1` })]
    const id = nextID()
    compactionID = id
    const message = { id, role: 'user', summary: false, createdAt: now(), raw: undefined } as const
    const part = { id: `${id}.1`, messageID: id, status: 'sealed', raw: undefined, type: 'compaction', auto } as const
    return [event({ type: 'message', message }), event({ type: 'part', part })]
  }

  function ask(given: LocalAsk): void {
    if (state === 'ended') return
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

  async function answer(requestID: string, given: LocalAnswer): Promise<void> {
    const found = pending.get(requestID)
    if (!found)
      throw new ReplyError('gone', `The ask ${requestID} is no longer pending, so there is nothing to answer.`)
    pending.delete(requestID)
    try {
      await found.given.reply(given)
    } catch (error) {
      // The agent didn't take the answer, so the ask can be answered again.
      if (state !== 'ended') pending.set(requestID, found)
      throw error
    }
    emit([event({ type: 'ask-closed', requestID, how: howOf(found.ask, given) })])
  }

  function cancelAsks(): void {
    for (const each of children) each.cancelAsks()
    for (const [requestID, { given }] of [...pending]) {
      // The run has ended or is about to, so a rejection changes nothing.
      void Promise.resolve(given.reply({ type: 'canceled' })).catch(() => {})
      close(requestID, given.type === 'permission' ? { type: 'permission', reply: 'reject' } : { type: 'rejected' })
    }
  }

  function child(start: LocalChildStart): LocalRun {
    begin()
    const made = options.startChild(start)
    children.push(made)
    return made
  }

  function end(ending: LocalEnding): void {
    if (state === 'ended') return
    begin()
    for (const each of children) each.end(ending)
    cancelAsks()
    state = 'ended'
    options.onEnd()
    // `idle` during a retry would count as aborted, but the agent reported another end.
    const resumed = isRetrying ? [event({ type: 'status', status: 'busy' })] : []
    emit([...resumed, ...messages.end(lastMessage(ending, redact)), event({ type: 'status', status: 'idle' })])
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
