import { texts } from '../../src/texts.ts'
import type { Action } from './actions.ts'
import type { Delivery } from './balancer.ts'
import type { Chat, ShownMessage } from './chats.ts'
import type { Stage } from './stage.ts'
import { endingOf, messageOf, type TaskKind, tokenOf } from './task.ts'

/** A task that a person gave, and what is known of it from outside. */
export interface Given {
  readonly token: string
  readonly chat: Chat
  /** `real`: an answer of the real server. */
  readonly kind: TaskKind | 'real'
  readonly at: number
  /** What the person will press when asked. */
  readonly choice: 'Allow once' | 'Reject'
  /** Whether the person types the choice instead of pressing its button. */
  readonly isTyped: boolean
  readonly presses: Press[]
  /** When the person typed the choice. */
  readonly typedAt: number[]
  /** When the person wrote /stop. */
  readonly stops: number[]
  /** When the chat showed its end, or the agent ended it without one. */
  overAt: number | undefined
  /** What the chat was told instead of an answer: that it was not taken, or put aside after it met several faults. */
  told: 'refused' | 'put-aside' | undefined
}

/** A press of a button of a permission. */
export interface Press {
  readonly messageId: string
  readonly at: number
  /** The notice for the person. Undefined until the bot has answered it or can't. */
  notice: string | undefined
}

/** Which share of the tasks is of a kind. The others are answers. */
export interface Mix {
  /** How long an answer takes, in ms: from and to. One that takes no time is a single post. */
  readonly answerMs: readonly [number, number]
  readonly ask: number
  /** The part of `ask` that people answer by a message. */
  readonly typed: number
  readonly hold: number
  readonly real: number
  /** Up to three answers right after each other. */
  readonly burst: number
}

/** Simulated people, who write, press and stop. */
export interface People {
  readonly random: () => number
  readonly given: readonly Given[]
  /** What people pressed, typed as an answer, and stopped, without repetitions. */
  readonly actions: readonly Action[]
  /** Gives one or a few tasks in a random idle chat. Does nothing if no chat is idle. */
  giveNext(mix: Mix): void
  /** Gives a task in an idle chat, of that platform if one is named. Returns undefined if none is idle. */
  give(kind: Given['kind'], ms: number, channel?: Chat['channel']): Given | undefined
  /** Returns the tasks that are not over. */
  openTasks(): readonly Given[]
  /** Resolves when all tasks are over, or when nothing has happened for too long. */
  settled(): Promise<void>
  /** The texts that the bot's messages in a chat have shown. */
  screenOf(chat: Chat): ChatScreen
  /** Ends the timers. */
  stop(): void
}

/** Every text of every message of the bot in a chat. */
export interface ChatScreen {
  /** The texts of one message, oldest first, by the id of the message. */
  readonly histories: ReadonlyMap<string, readonly string[]>
  /** The ids of the messages that are not deleted. */
  readonly present: ReadonlySet<string>
  /** When one of the texts has changed. */
  readonly changedAt: readonly number[]
}

type Shown = readonly ShownMessage[]

/** What a chat is told instead of an answer. */
const toldTexts = [
  { told: 'refused', words: [texts.notTaken] },
  {
    told: 'put-aside',
    words: [texts.poisonMessage, texts.poisonUnsure, texts.poisonRun, texts.poisonAnswer],
  },
] as const
/** What people type to choose. */
const typedChoices = { 'Allow once': '1', Reject: '3' } as const
/** How long people wait before they press or stop, in ms: from and to. */
const thinkMs = [100, 1500] as const
/** After how long people press or stop again if nothing has come of it, in ms. */
const patienceMs = 10_000
/** How long a chat is left alone after a task that was stopped, so that no late /stop ends the next one, in ms. */
const quietMs = 4000
/** How long nothing happens before the rest counts as lost, in ms. Telegram delivers again after at most a minute. */
const standstillMs = 75_000
/** The same while Slack still has a message that no member took: its last attempt is six minutes after the first. */
const undeliveredMs = 400_000
/** How often people press or stop for one task: for as long as Telegram repeats what it could not deliver. */
const mostTries = 30
/** How often people look, in ms. */
const lookMs = 100

/** Creates the people of a stage, one in each chat. */
export function createPeople(stage: Stage): People {
  const { chats, random, server } = stage
  const given: Given[] = []
  const actions: Action[] = []
  /** Actions whose effect the chat does not show yet, and whether what it shows now is that. */
  const unseen = new Map<Chat, { readonly action: Action; readonly isSeen: (shown: Shown) => boolean }[]>()
  const open = new Map<Chat, Given[]>(chats.map((chat) => [chat, []]))
  const quietUntil = new Map<Chat, number>()
  const dueAt = new Map<Given, number>()
  const screens = new Map(
    chats.map((chat) => [
      chat,
      { histories: new Map<string, string[]>(), present: new Set<string>(), changedAt: [] as number[] },
    ]),
  )
  let changedAt = Date.now()
  for (const chat of chats) chat.observe(() => look(chat))
  const timer = setInterval(act, lookMs)
  return { random, given, actions, giveNext, give, openTasks, settled, screenOf, stop: () => clearInterval(timer) }

  function openTasks(): readonly Given[] {
    return [...open.values()].flat()
  }

  /** Whether no member took the message of an open task on Slack. */
  function isUndelivered(): boolean {
    return openTasks().some(
      ({ chat, token }) =>
        chat.channel === 'slack' &&
        !stage.balancer.deliveries.some(({ status, body }) => status === 200 && body.includes(token)),
    )
  }

  function screenOf(chat: Chat): ChatScreen {
    return screens.get(chat) ?? { histories: new Map(), present: new Set(), changedAt: [] }
  }

  function giveNext(mix: Mix): void {
    const drawn = random()
    if (drawn < mix.ask) return giveAsk(random() < mix.typed)
    if (drawn < mix.ask + mix.hold) return void give('hold', 0)
    if (drawn < mix.ask + mix.hold + mix.real) return void give('real', 0)
    const first = give('answer', between(mix.answerMs))
    const more = random() < mix.burst ? 1 + Math.floor(random() * 2) : 0
    for (let count = 0; first && count < more; count++) giveIn(first.chat, 'answer', between(mix.answerMs))
  }

  function give(kind: Given['kind'], ms: number, channel?: Chat['channel']): Given | undefined {
    const chat = idleChat(kind === 'real', channel)
    return chat && giveIn(chat, kind, ms)
  }

  function giveAsk(isTyped: boolean): void {
    const chat = idleChat(false, undefined)
    if (chat) giveIn(chat, 'ask', 0, isTyped)
  }

  /** Returns a random chat without an open task, of that platform if one is named. Undefined if most are busy. */
  function idleChat(isReal: boolean, channel: Chat['channel'] | undefined): Chat | undefined {
    const ofPlatform = channel === undefined ? chats : chats.filter((chat) => chat.channel === channel)
    const possible = isReal ? ofPlatform.filter((chat) => chat.isReal) : ofPlatform
    for (let tries = 0; tries < 50; tries++) {
      const chat = possible[Math.floor(random() * possible.length)]
      if (!chat || chat.isReal !== isReal) continue
      if (open.get(chat)?.length === 0 && (quietUntil.get(chat) ?? 0) < Date.now()) return chat
    }
    return undefined
  }

  function giveIn(chat: Chat, kind: Given['kind'], ms: number, isTyped = false): Given {
    const token = tokenOf(given.length)
    const one: Given = {
      ...{ token, chat, kind, at: Date.now(), presses: [], typedAt: [], stops: [], overAt: undefined, told: undefined },
      ...{ choice: random() < 0.8 ? 'Allow once' : 'Reject', isTyped },
    }
    given.push(one)
    open.get(chat)?.push(one)
    if (kind === 'real') {
      stage.prepareReal(token)
      chat.say(`Go [scenario:${token}]`)
    } else chat.say(messageOf({ token, kind, ms: Math.round(ms) }))
    return one
  }

  /** Records what a chat shows. */
  function look(chat: Chat): void {
    changedAt = Date.now()
    const screen = screens.get(chat)
    const shown = chat.shown()
    screen?.present.clear()
    for (const { id, text } of shown) {
      screen?.present.add(id)
      const history = screen?.histories.get(id) ?? []
      if (history.at(-1) !== text) {
        history.push(text)
        screen?.changedAt.push(Date.now())
      }
      screen?.histories.set(id, history)
    }
    for (const { action, isSeen } of unseen.get(chat) ?? []) if (isSeen(shown)) action.seenAt ??= Date.now()
    for (const one of open.get(chat) ?? []) settleIfOver(one, shown)
  }

  /** Notes an action, and looks for what comes of it. */
  function note(kind: Action['kind'], { chat }: Given, isIn: Action['isIn'], isSeen: (shown: Shown) => boolean): void {
    const action: Action = { kind, chat, at: Date.now(), isIn, seenAt: undefined }
    actions.push(action)
    unseen.set(chat, [
      ...(unseen.get(chat) ?? []).filter(({ action: { seenAt } }) => seenAt === undefined),
      { action, isSeen },
    ])
  }

  function settleIfOver(one: Given, shown: readonly ShownMessage[]): void {
    const end = server.ended.get(one.token)
    const isAnswered = shown.some(({ text }) => text.includes(endingOf(one.token)))
    if (isAnswered || end === 'rejected' || end === 'aborted') return settle(one)
    for (const { told, words } of toldTexts) {
      // It names no message, so it is of the oldest one.
      const count = shown.filter(({ text }) => words.some((part) => text.includes(part))).length
      if (count === 0) continue
      if (count <= given.filter((other) => other.chat === one.chat && other.told === told).length) continue
      if (told === 'refused' && server.tasks.some(({ task }) => task.token === one.token)) continue
      one.told = told
      return settle(one)
    }
  }

  function settle(one: Given): void {
    one.overAt = Date.now()
    if (one.stops.length > 0) quietUntil.set(one.chat, Date.now() + quietMs)
    open.set(
      one.chat,
      (open.get(one.chat) ?? []).filter((other) => other !== one),
    )
  }

  /** Does what is due in all chats. */
  function act(): void {
    for (const [chat, ones] of open) {
      for (const one of ones) {
        if (one.kind === 'ask') press(one, chat)
        if (one.kind === 'hold') stopRun(one, chat)
        // The agent may end a task without a change on the screen.
        if (one.kind !== 'answer' && server.ended.has(one.token)) settleIfOver(one, chat.shown())
      }
    }
  }

  /** Answers a task's permission, once it is shown, and again if it still is after a while. */
  function press(one: Given, chat: Chat): void {
    if (server.answers.some(({ token }) => token === one.token)) return
    const isAsk = ({ labels, text }: ShownMessage): boolean => labels.includes(one.choice) && text.includes(one.token)
    const message = chat.shown().findLast(isAsk)
    const tries = one.isTyped ? one.typedAt : one.presses.map(({ at }) => at)
    if (!message || !isDue(one, tries.at(-1)) || tries.length >= mostTries) return
    const isAnswered = (shown: Shown): boolean => !shown.some(isAsk)
    if (one.isTyped) {
      const text = typedChoices[one.choice]
      if (tries.length === 0) note('typed', one, (delivery) => chat.isMessage(delivery, text), isAnswered)
      one.typedAt.push(Date.now())
      return chat.say(text)
    }
    if (tries.length === 0) note('press', one, (delivery) => chat.isPress(delivery, message.id), isAnswered)
    const made: Press = { messageId: message.id, at: Date.now(), notice: undefined }
    one.presses.push(made)
    chat.press(message.id, one.choice).then(
      (notice) => {
        made.notice = notice
      },
      // The message was replaced meanwhile.
      () => {},
    )
  }

  /** Stops a task once the agent has it, and again if it goes on after a while. */
  function stopRun(one: Given, chat: Chat): void {
    if (server.ended.has(one.token) || !server.tasks.some(({ task }) => task.token === one.token)) return
    if (!isDue(one, one.stops.at(-1)) || one.stops.length >= mostTries) return
    const countIn = (shown: Shown): number => shown.filter(({ text }) => text.includes(texts.canceled)).length
    const before = countIn(chat.shown())
    const isIn = (delivery: Pick<Delivery, 'body'>): boolean => chat.isMessage(delivery, '/stop')
    if (one.stops.length === 0) note('stop', one, isIn, (shown) => countIn(shown) > before)
    one.stops.push(Date.now())
    chat.say('/stop')
  }

  /** Whether a person has thought long enough, or has waited long enough since the last time. */
  function isDue(one: Given, lastAt: number | undefined): boolean {
    if (lastAt !== undefined) return Date.now() - lastAt > patienceMs
    const due = dueAt.get(one) ?? Date.now() + between(thinkMs)
    dueAt.set(one, due)
    return Date.now() >= due
  }

  function between([from, to]: readonly [number, number]): number {
    return from + random() * (to - from)
  }

  async function settled(): Promise<void> {
    let before = -1
    while (openTasks().length > 0 && Date.now() - changedAt < (isUndelivered() ? undeliveredMs : standstillMs)) {
      const heard = server.tasks.length + stage.model.requests.length
      if (before >= 0 && heard > before) changedAt = Date.now()
      before = heard
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
}
