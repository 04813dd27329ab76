import type { LocalAgent, LocalAsk, LocalEnding, LocalRun } from '@reply/core/source'
import type { Task } from './decode/item.ts'
import type { CodexEvent } from './decode/notification.ts'
import type { RunWriter } from './run-writer.ts'

/**
 * Assigns the turns of Codex's threads to runs, by the ids of the turns. Most turns answer a prompt of this program.
 * Codex also begins turns by itself, for example towards a goal. Sub-agents are threads whose turns go on after their
 * parent's.
 */
export interface Turns {
  /**
   * Call it before you send the prompt of a run. From then on, turns that begin in its thread are held until
   * `promptTaken` or `promptRefused`. Turns of the thread that are held already are shown without a prompt.
   */
  expectTurn(run: LocalRun): void
  /**
   * Call it with the turn that takes the prompt. A turn that the prompt began is shown in its run, and ends it. If the
   * turn went on already, also one that another client began while the prompt was sent, its output is shown in the run
   * once the turn reads the prompt. If that turn has ended without reading it, the run ends as the turn did, or as
   * failed after a completed turn. Then shows the other held turns of the thread, without a prompt.
   */
  promptTaken(run: LocalRun, turnID: string): void
  /** Call it if the prompt was not taken. Shows the held turns of its thread, without a prompt. Leaves the run open. */
  promptRefused(run: LocalRun): void
  /**
   * Shows an event in the run of its turn, and ends the run with the turn. Holds the events of a turn whose run is not
   * clear so far. Drops those of a turn that has ended or whose beginning was missed, and of the oldest held turn
   * beyond 50.
   */
  write(event: CodexEvent, raw: unknown): void
  /** Shows the rest of a turn in its run, which ends with it. */
  continueTurn(turn: OpenTurn): void
  /**
   * Shows what a connection that was lost has missed of a turn, from the whole of it so far. A turn that began meanwhile is shown
   * as if it was seen from its beginning. Does nothing for a turn that was seen to end.
   */
  catchUp(threadID: string, turn: TurnSoFar): void
  /** Returns the turns of a thread that go on and have a run that is open, by their ids. */
  openTurns(threadID: string): readonly string[]
  /** Returns the threads of the known sub-agents, those above others first. */
  agentThreads(): readonly string[]
  /** Whether a turn was seen, and is among the last ones if it has ended. */
  isKnown(turnID: string): boolean
  /**
   * Returns the run that shows the turn, also if it has ended. Without a turn's id, that of the thread's newest turn
   * that goes on. Undefined if there is none. A held turn is shown without a prompt first if its thread is a session or
   * a sub-agent.
   */
  runOf(threadID: string, turnID: string | undefined): LocalRun | undefined
  /** Closes an ask in the runs of the thread's turns. Does nothing if there is none with this id. */
  closeAsk(threadID: string, requestID: string): void
  /** Closes an ask whose answer was not seen, and notes that for its call. */
  closeUnseenAsk(threadID: string, ask: Pick<LocalAsk, 'requestID' | 'callID'>): void
  /** Remembers the goal of a thread, which is then the reason of its own turns. */
  setGoal(threadID: string, objective: string): void
  /**
   * Returns the id of the turn that shows the run or has taken its prompt. Undefined if there is none, or none so far.
   */
  turnOf(run: LocalRun): string | undefined
  /** Notes whether a turn was told to stop. Forgotten with the end of the turn. */
  setStopping(turnID: string, isStopping: boolean): void
  /** Whether a turn that goes on was told to stop. */
  isStopping(turnID: string): boolean
  /** Returns the id of the thread's newest turn that goes on, also if it is held. Undefined if there is none. */
  currentTurn(threadID: string): string | undefined
  /** Forgets everything, without ending runs. Call it when a new process starts. */
  clear(): void
}

/** A turn that goes on, with the run that shows it. `agent` if it is a sub-agent's. */
export interface OpenTurn {
  readonly threadID: string
  readonly turnID: string
  readonly run: LocalRun
  readonly agent?: Agent | undefined
}

/** A turn as Codex's history has it. */
export interface TurnSoFar {
  readonly turnID: string
  /** Its events so far, from the first one, without its end. */
  readonly events: readonly CodexEvent[]
  /** Absent while it goes on. */
  readonly ending: LocalEnding | undefined
}

/** What began a turn without a prompt of ours: the prompt of another client, or a reason of Codex's own. */
type TurnCause = Parameters<LocalAgent['wake']>[1]

/** A turn that goes on. */
interface Turn {
  readonly threadID: string
  /** The run that shows it. */
  run: LocalRun
  /** Whether the run belongs to another turn, which ends it. */
  isGuest: boolean
  /** The runs of prompts that the turn has taken and not read so far. */
  joining: LocalRun[]
  /** The calls of commands that were left in the background. Their ends are not shown. */
  readonly leftCallIDs: Set<string>
  /** Whether it was told to stop. */
  isStopping: boolean
}

/** An event that tells of a prompt. */
type PromptEvent = Extract<CodexEvent, { readonly type: 'prompt' }>

/** A turn whose run is not clear so far. */
interface HeldTurn {
  readonly threadID: string
  /** Its events, oldest first. */
  readonly events: { readonly event: CodexEvent; readonly raw: unknown }[]
}

/** A sub-agent. */
interface Agent {
  /** The run that gave it its last task. */
  parent: LocalRun
  task: Task
}

/**
 * How many turns of unknown threads are held. The call that names a sub-agent's thread may come after its first events.
 */
const mostHeld = 50

/**
 * Creates the turns of Codex's threads, none at first. It finds out in which run each turn is shown, writes the turn's
 * events there, and ends the run with it. `isOpen` tells whether a thread is a session. `wake` returns the current run
 * of a session, or begins one with the cause.
 */
export function createTurns(
  writer: RunWriter,
  isOpen: (threadID: string) => boolean,
  wake: (threadID: string, cause: TurnCause) => LocalRun,
): Turns {
  /** The turns that go on, by their ids, oldest first. */
  const turns = new Map<string, Turn>()
  /** Held turns, by their ids, oldest first. */
  const held = new Map<string, HeldTurn>()
  /** Sub-agents, by their threads. */
  const agents = new Map<string, Agent>()
  /** Goals, by their threads. */
  const goals = new Map<string, string>()
  /** Runs whose prompt is on its way. */
  const sent = new Set<LocalRun>()
  /** How the last turns ended. The response that names a turn may be handled after the turn's end. */
  const endings = new Map<string, LocalEnding>()
  return {
    expectTurn: (run) => {
      // Added first, so that a turn that is shown in this run does not end it.
      sent.add(run)
      // These turns began before the prompt, so they are not its own.
      for (const [turnID, { threadID }] of [...held]) if (threadID === run.sessionID) assignHeldTurn(turnID, true)
    },
    promptTaken,
    promptRefused: (run) => showHeldTurns(run),
    write,
    continueTurn: ({ threadID, turnID, run, agent }) => {
      if (agent) agents.set(threadID, agent)
      beginTurn(turnID, threadID, run, false)
    },
    catchUp,
    openTurns: (threadID) =>
      [...turns].flatMap(([id, turn]) => (turn.threadID === threadID && turn.run.isOpen() ? [id] : [])),
    agentThreads: () => [...agents.keys()],
    isKnown: (turnID) => turns.has(turnID) || endings.has(turnID),
    runOf: (threadID, turnID) => {
      if (turnID !== undefined && held.has(turnID)) assignHeldTurn(turnID, true)
      return turnID === undefined
        ? [...turns.values()].findLast((turn) => turn.threadID === threadID)?.run
        : turns.get(turnID)?.run
    },
    closeAsk,
    closeUnseenAsk: (threadID, { requestID, callID }) => {
      closeAsk(threadID, requestID)
      if (callID === undefined) return
      for (const turn of turns.values()) if (turn.threadID === threadID) writer.noteUnseen(turn.run, callID)
    },
    setGoal: (threadID, objective) => void goals.set(threadID, objective),
    turnOf: (run) => [...turns].find(([, turn]) => turn.run === run || turn.joining.includes(run))?.[0],
    setStopping: (turnID, isStopping) => {
      const turn = turns.get(turnID)
      if (turn) turn.isStopping = isStopping
    },
    isStopping: (turnID) => turns.get(turnID)?.isStopping === true,
    currentTurn: (threadID) => [...turns, ...held].findLast(([, turn]) => turn.threadID === threadID)?.[0],
    clear: () => {
      for (const map of [turns, held, agents, goals, endings]) map.clear()
      sent.clear()
    },
  }

  function closeAsk(threadID: string, requestID: string): void {
    for (const turn of turns.values()) if (turn.threadID === threadID) turn.run.closeAsk(requestID)
  }

  function promptTaken(run: LocalRun, turnID: string): void {
    if (isBegunByOther(turnID, run)) assignHeldTurn(turnID, true)
    const turn = turns.get(turnID)
    const ending = endings.get(turnID)
    sent.delete(run)
    // The run shows the turn already, which takes the prompt and ends the run.
    if (turn?.run === run) turn.isGuest = false
    else if (turn) turn.joining.push(run)
    else if (ending) run.end(unreadEnding(ending))
    else beginTurn(turnID, run.sessionID, run, false)
    showHeldTurns(run)
  }

  /**
   * Whether something else than the run's prompt began a held turn, which took the prompt while it went on. False if
   * the turn has not told so far.
   */
  function isBegunByOther(turnID: string, run: LocalRun): boolean {
    const beginning = beginningOf(held.get(turnID))
    return beginning === 'itself' || (beginning !== undefined && beginning.clientID !== run.promptID)
  }

  /** Shows the held turns of the run's thread, now that its prompt is not on its way. */
  function showHeldTurns(run: LocalRun): void {
    sent.delete(run)
    for (const [id, { threadID }] of [...held]) if (threadID === run.sessionID) assignHeldTurn(id, false)
  }

  /** Shows a turn in a run, and the events of it that were held. As a guest, it does not end the run. */
  function beginTurn(turnID: string, threadID: string, run: LocalRun, isGuest: boolean): void {
    turns.set(turnID, { threadID, run, isGuest, joining: [], leftCallIDs: new Set(), isStopping: false })
    const { events = [] } = held.get(turnID) ?? {}
    held.delete(turnID)
    for (const { event, raw } of events) write(event, raw)
  }

  function write(event: CodexEvent, raw: unknown): void {
    const { threadID, turnID } = event
    const turn = turns.get(turnID)
    if (turn) return applyEvent(turn, event, raw)
    const waiting = held.get(turnID)
    // Other turns have ended, or began before this connection.
    if (!waiting && event.type !== 'turn') return
    if (waiting) waiting.events.push({ event, raw })
    else {
      held.set(turnID, { threadID, events: [{ event, raw }] })
      const [oldest] = held.keys()
      if (held.size > mostHeld && oldest !== undefined) held.delete(oldest)
    }
    assignHeldTurn(turnID, false)
  }

  /**
   * Shows a held turn in its run, if that is clear: in a new child if it is a sub-agent's, otherwise in the run of
   * `wake`. Does nothing for a thread that is neither a session nor a sub-agent. Unless `isUnprompted`, a prompt of
   * ours may have begun the turn: then it does nothing while a prompt of its thread is on its way, and before it is
   * known what began the turn.
   */
  function assignHeldTurn(turnID: string, isUnprompted: boolean): void {
    const found = held.get(turnID)
    if (!found) return
    const { threadID, events } = found
    const agent = agents.get(threadID)
    if (agent) {
      const { title, text } = agent.task
      const { parent } = agent
      const child = parent.child({ sessionID: threadID, title, text: text || undefined, background: true })
      return beginTurn(turnID, threadID, child, false)
    }
    if (!isOpen(threadID)) return
    if (!isUnprompted && [...sent].some((run) => run.sessionID === threadID)) return
    if (!isUnprompted && beginningOf(found) === undefined && events.at(-1)?.event.type !== 'end') return
    const run = wake(threadID, causeOf(found))
    // A session has one run at a time, which may be that of another turn, or of a prompt that is on its way.
    const isGuest = sent.has(run) || [...turns.values()].some((turn) => turn.run === run)
    beginTurn(turnID, threadID, run, isGuest)
  }

  /**
   * Returns what began a turn without a prompt of ours: another client's prompt, else the thread's goal, else no reason.
   */
  function causeOf(turn: HeldTurn): TurnCause {
    const beginning = beginningOf(turn)
    if (beginning !== undefined && beginning !== 'itself') {
      const { text, clientID, messageID } = beginning
      return { parts: [{ type: 'text', text }], messageID: clientID ?? messageID }
    }
    const goal = goals.get(turn.threadID)
    return goal === undefined ? 'Codex goes on by itself.' : `Codex works towards its goal: ${goal}`
  }

  /** Shows an event in the turn's run. Drops calls of commands that were left in the background. */
  function applyEvent(turn: Turn, event: CodexEvent, raw: unknown): void {
    switch (event.type) {
      case 'turn':
        return
      case 'prompt':
        return takePrompt(turn, event.clientID)
      case 'end':
        return endTurn(turn, event)
      case 'call': {
        if (turn.leftCallIDs.has(event.callID)) return
        if (event.task) storeAgents(turn.run, event.task)
        return writer.write(turn.run, event, raw)
      }
      default:
        writer.write(turn.run, event, raw)
    }
  }

  /**
   * Goes on in the run of another prompt that the turn reads now. Completes the run so far, unless that belongs to
   * another turn. Does nothing for the prompt of the run itself, and for one of another client.
   */
  function takePrompt(turn: Turn, clientID: string | undefined): void {
    const next = [...turn.joining, ...sent].find(({ promptID }) => promptID === clientID)
    if (!next || next === turn.run) return
    turn.joining = turn.joining.filter((run) => run !== next)
    for (const callID of writer.leaveCommands(turn.run)) turn.leftCallIDs.add(callID)
    if (!turn.isGuest) turn.run.end({ type: 'completed', finish: 'tool-calls' })
    turn.run = next
    turn.isGuest = false
  }

  function catchUp(threadID: string, { turnID, events, ending }: TurnSoFar): void {
    if (endings.has(turnID)) return
    const turn = turns.get(turnID)
    if (turn) {
      // What came before the prompt that the run answers was shown in earlier runs.
      const promptAt = events.findLastIndex(
        (event) => event.type === 'prompt' && (event.clientID ?? event.messageID) === turn.run.promptID,
      )
      for (const event of writer.missed(turn.run, events.slice(promptAt + 1))) applyEvent(turn, event, undefined)
    } else {
      held.delete(turnID)
      for (const event of events) write(event, undefined)
    }
    if (ending) write({ type: 'end', threadID, turnID, ending }, undefined)
  }

  /** Ends the turn's run, unless that belongs to another turn, and the runs of the prompts that it did not read. */
  function endTurn(turn: Turn, { turnID, ending }: Extract<CodexEvent, { readonly type: 'end' }>): void {
    turns.delete(turnID)
    endings.set(turnID, ending)
    const [oldest] = endings.keys()
    if (endings.size > mostEnded && oldest !== undefined) endings.delete(oldest)
    if (ending.type === 'completed') writer.leaveCommands(turn.run)
    if (!turn.isGuest) turn.run.end(ending)
    for (const run of turn.joining) run.end(unreadEnding(ending))
  }

  /** Whether the thread is the other one or a sub-agent's below it. */
  function isWithin(threadID: string, ancestorID: string): boolean {
    if (threadID === ancestorID) return true
    const agent = agents.get(threadID)
    return agent !== undefined && isWithin(agent.parent.sessionID, ancestorID)
  }

  /**
   * Remembers which run gave sub-agents their task, and shows their held turns. Leaves out the threads of the run itself and
   * above it, to which a sub-agent may write, and those that were sessions before.
   */
  function storeAgents(run: LocalRun, task: Task): void {
    for (const id of task.agentIDs) {
      const agent = agents.get(id)
      if (isWithin(run.sessionID, id) || (!agent && isOpen(id))) continue
      if (agent) {
        agent.parent = run
        agent.task = task
      } else agents.set(id, { parent: run, task })
      for (const [turnID, { threadID }] of [...held]) if (threadID === id) assignHeldTurn(turnID, false)
    }
  }
}

/** The events that tell nothing of what began a turn. Codex may compact, or try again, before it tells of the prompt. */
const silentTypes: ReadonlySet<CodexEvent['type']> = new Set(['turn', 'compaction', 'retry', 'usage', 'end'])

/** Whether an event tells nothing of what began its turn. */
export const isSilent = ({ type }: CodexEvent): boolean => silentTypes.has(type)

/**
 * Returns the prompt that began a turn, which it tells of before anything of the agent, or `itself` if Codex began it.
 * Undefined while the turn has told neither.
 */
function beginningOf(turn: HeldTurn | undefined): PromptEvent | 'itself' | undefined {
  const first = turn?.events.find(({ event }) => !isSilent(event))?.event
  return first === undefined || first.type === 'prompt' ? first : 'itself'
}

/** How many turns are remembered after their end. */
const mostEnded = 50

/**
 * How the run of a prompt ends that a turn took and did not read: as the turn, or as failed if the turn was completed.
 */
function unreadEnding(ending: LocalEnding): LocalEnding {
  if (ending.type !== 'completed') return ending
  const message = 'Codex ended its turn before it read this prompt. Send it again.'
  return { type: 'failed', error: { name: 'CodexError', message, raw: undefined } }
}
