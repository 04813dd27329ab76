import type { Doubts } from '../../test/doubts.ts'
import type { Balancer } from './balancer.ts'
import type { Chat } from './chats.ts'
import type { ChatScreen, Given } from './people.ts'
import type { ScriptedServer } from './scripted-server.ts'
import { askOf, beginningsOf, endingOf, tasksIn } from './task.ts'

/** What became of all tasks, as seen from outside of the bridges. */
export interface Judged {
  readonly tasks: number
  readonly presses: number
  readonly stops: number
  readonly lost: number
  /** Tasks whose chat was told that they were not taken. */
  readonly refused: number
  /** Tasks whose chat was told that they were put aside, because several members ended while they had them. */
  readonly putAside: number
  readonly runTwice: number
  /** Messages that stay: those that the chats show in the end. */
  readonly shown: number
  /** Those of them that show the beginning or end of an answer, or a request, that another message shows, too. */
  readonly doubled: number
  /** Those that some chat shows beyond its own posts in doubt. */
  readonly doubledSurely: number
  /** The same for all that a chat has shown at any time, without `doubledSurely`. */
  readonly doubledForAWhile: number
  /** Messages that say for ever that an answer is being written, beyond the posts in doubt of their chats. */
  readonly unfinished: number
  readonly doubtful: number
  /** Of `doubtful`: those of messages that stay, not of a status. */
  readonly doubtfulLasting: number
  /** Tasks whose chat shows the end of the answer. */
  readonly finals: number
  /** Messages that showed an ending, and show an older text now. */
  readonly overwritten: number
  /** Tasks whose chat showed the end of the answer in messages that are all deleted. */
  readonly deleted: number
  /** Tasks on Telegram that the agent got in another order than they were written. */
  readonly disordered: number
  /** The same on Slack, which does not number the messages of a chat. */
  readonly disorderedOnSlack: number
  /** Tasks that the agent got before one whose message the platform had acknowledged when theirs was first delivered. */
  readonly disorderedAsReceived: number
  /** Calls that a platform refused with a 429, without those that show "typing…". */
  readonly rateLimited: number
  readonly typingRateLimited: number
  /** Permissions that the agent got more than one answer to, or another answer than was pressed. */
  readonly wrongAnswers: number
  /** Answers that the agent got too long after the platform's last delivery of the press. */
  readonly lateAnswers: number
  /** Tasks that ended as stopped, though their person did not stop them. */
  readonly wrongStops: number
  /** What is wrong, in words. Empty if nothing is. */
  readonly wrong: readonly string[]
}

/**
 * How long after the platform's last delivery of a press the agent may get its answer, in ms: 2 s, within which a member takes
 * it from another one, and what a loaded machine adds.
 */
const pressMs = 3000

/** What can be seen from outside of the bridges. A `Stage` and its `People` have it. */
export interface Seen {
  readonly server: Pick<ScriptedServer, 'tasks' | 'answers' | 'ended'>
  readonly model: { readonly requests: readonly RealRequest[] }
  readonly telegram: { readonly calls: readonly PlatformCall[] }
  readonly slack: { readonly calls: readonly PlatformCall[] }
  readonly balancer: Pick<Balancer, 'deliveries'>
}

interface RealRequest {
  readonly kind: string
  readonly step: number
  /** The token of the task. */
  readonly scenario?: string | undefined
}

interface PlatformCall {
  readonly method: string
  readonly status?: number
}

/** The tasks that people gave, and what their chats have shown. */
interface SeenPeople {
  readonly given: readonly Given[]
  screenOf(chat: Chat): Pick<ChatScreen, 'histories' | 'present'>
}

/** Compares what people did with what the agents got and what the chats show. `doubts` are those of each chat, by `Chat.key`. */
export function judge(
  { server, model, telegram, slack, balancer }: Seen,
  people: SeenPeople,
  doubts: ReadonlyMap<string, Doubts>,
): Judged {
  const { given } = people
  const wrong: string[] = []
  const heard = countBy([
    ...server.tasks.map(({ task }) => task.token),
    ...model.requests.flatMap(({ kind, step, scenario }) =>
      kind === 'step' && step === 0 && scenario !== undefined ? [scenario] : [],
    ),
  ])
  const lost = given.filter(({ overAt }) => overAt === undefined)
  const twice = given.filter(({ token }) => (heard.get(token) ?? 0) > 1)
  const finals = given.map((one) => ({ one, ...finalOf(one, people) }))
  const screens = screensOf({ server }, people).map((one) => ({
    ...one,
    doubtful: doubts.get(one.chat.key)?.posts ?? 0,
  }))
  const surelyIn = (copies: number, doubtful: number): number => Math.max(0, copies - doubtful)
  const doubled = screens.filter(({ copies, doubtful }) => surelyIn(copies, doubtful) > 0)
  const stuck = screens.filter(({ atWork, doubtful }) => surelyIn(atWork, doubtful) > 0)
  const overwritten = finals.filter((final) => final.isOverwritten)
  const disordered = disorderedIn({ server, model }, given)
  const onSlack = disordered.filter(({ chat }) => chat.channel === 'slack')
  const asReceived = disorderedAsReceivedIn({ server, model, balancer }, given)
  const answersOf = (token: string) => server.answers.filter((answer) => answer.token === token)
  const asks = given.filter(({ kind }) => kind === 'ask')
  const wrongAnswers = asks.filter((one) => {
    const [answer, ...more] = answersOf(one.token)
    return more.length > 0 || (answer && answer.reply !== (one.choice === 'Reject' ? 'reject' : 'once'))
  })
  const lateAnswers = asks.filter((one) => answersOf(one.token).some(({ at }) => isLate(one, at)))
  const wrongStops = given.filter(({ token, stops }) => server.ended.get(token) === 'aborted' && stops.length === 0)
  const limited = [...telegram.calls, ...slack.calls].filter(({ status }) => status === 429)
  const typing = limited.filter(({ method }) => method === 'sendChatAction').length
  report('lost', lost)
  report('run twice', twice)
  for (const { copies, doubtful, tasks } of doubled)
    report(
      `of a chat with ${copies} messages that are shown twice, of which ${doubtful} are counted as doubtful`,
      tasks,
    )
  for (const { atWork, doubtful, tasks } of stuck)
    report(
      `of a chat with ${atWork} messages that are at work for ever, of which ${doubtful} are counted as doubtful`,
      tasks,
    )
  report(
    'overwritten by an older text',
    overwritten.map(({ one }) => one),
  )
  const deleted = finals.filter((final) => final.isDeleted)
  report(
    'shown and then deleted',
    deleted.map(({ one }) => one),
  )
  report(
    'run in another order',
    disordered.filter(({ chat }) => chat.channel === 'tg'),
  )
  report('run before one that had been received', asReceived)
  report('answered wrongly', wrongAnswers)
  report('answered too late', lateAnswers)
  report('stopped though not asked to', wrongStops)
  if (limited.length > 0)
    wrong.push(`${limited.length} calls were rate-limited: ${[...countBy(limited.map(({ method }) => method))].join()}`)
  return {
    tasks: given.length,
    presses: sumOf(given, ({ presses }) => presses.length),
    stops: sumOf(given, ({ stops }) => stops.length),
    lost: lost.length,
    refused: given.filter(({ told }) => told === 'refused').length,
    putAside: given.filter(({ told }) => told === 'put-aside').length,
    runTwice: twice.length,
    shown: sumOf(screens, ({ messages }) => messages),
    doubled: sumOf(screens, ({ copies }) => copies),
    doubledSurely: sumOf(screens, ({ copies, doubtful }) => surelyIn(copies, doubtful)),
    doubledForAWhile: sumOf(
      screens,
      ({ copies, copiesEver, doubtful }) => copiesEver - Math.max(copies, Math.min(copiesEver, doubtful)),
    ),
    unfinished: sumOf(screens, ({ atWork, doubtful }) => surelyIn(atWork, doubtful)),
    doubtful: sumOf(doubts.values(), ({ posts }) => posts),
    doubtfulLasting: sumOf(doubts.values(), ({ lasting }) => lasting),
    finals: finals.filter(({ isShown }) => isShown).length,
    overwritten: overwritten.length,
    deleted: deleted.length,
    disordered: disordered.length - onSlack.length,
    disorderedOnSlack: onSlack.length,
    disorderedAsReceived: asReceived.length,
    rateLimited: limited.length - typing,
    typingRateLimited: typing,
    wrongAnswers: wrongAnswers.length,
    lateAnswers: lateAnswers.length,
    wrongStops: wrongStops.length,
    wrong,
  }

  function report(what: string, ones: readonly Given[]): void {
    if (ones.length === 0) return
    wrong.push(`${ones.length} tasks were ${what}: ${ones.map(described).join('; ')}`)
  }

  /** Describes a task, and what its chat shows. */
  function described({ token, kind, chat, at, presses, stops }: Given): string {
    const facts = [
      ...[token, kind, chat.person, new Date(at).toISOString(), `${heard.get(token) ?? 0} runs`],
      `pressed at ${presses.map((press) => new Date(press.at).toISOString()).join(' and ')}`,
      `${stops.length} stops`,
      ...answersOf(token).map((answer) => `answer ${answer.reply} at ${new Date(answer.at).toISOString()}`),
      server.ended.get(token) ?? 'not ended',
    ]
    const screen = [...people.screenOf(chat).histories].map(([id, history]) => `${id}: ${history.join(' → ')}`)
    return `${facts.join(', ')}\n    ${screen.join('\n    ')}`
  }

  /** Whether an answer reached the agent too long after the last delivery of its press, also if a member that got it was frozen. */
  function isLate({ chat, presses }: Given, at: number): boolean {
    const made = balancer.deliveries.filter(
      (delivery) => delivery.at <= at && presses.some(({ messageId }) => chat.isPress(delivery, messageId)),
    )
    const last = made.at(-1)
    return last !== undefined && at - last.at > pressMs
  }
}

/** How often each text is in a list. */
function countBy(list: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const one of list) counts.set(one, (counts.get(one) ?? 0) + 1)
  return counts
}

/** Adds up a number of each. */
function sumOf<Item>(all: Iterable<Item>, numberOf: (one: Item) => number): number {
  let sum = 0
  for (const one of all) sum += numberOf(one)
  return sum
}

/** What became of the end of an answer in its chat. */
function finalOf({ token, chat }: Given, people: SeenPeople) {
  const ending = endingOf(token)
  const { histories, present } = people.screenOf(chat)
  const shown = [...histories]
    .map(([id, history]) => ({ isPresent: present.has(id), isEnding: history.map((text) => text.includes(ending)) }))
    .filter(({ isEnding }) => isEnding.includes(true))
  return {
    isShown: shown.some(({ isPresent, isEnding }) => isPresent && isEnding.at(-1)),
    isOverwritten: shown.some(({ isEnding }) => isEnding.at(-1) === false),
    isDeleted: shown.length > 0 && shown.every(({ isPresent }) => !isPresent),
  }
}

/** Returns what each chat with a task shows, and how much of it twice: in the end, and at any time. */
function screensOf({ server }: Pick<Seen, 'server'>, people: SeenPeople) {
  const byChat = new Map<Chat, Given[]>()
  for (const one of people.given) byChat.set(one.chat, [...(byChat.get(one.chat) ?? []), one])
  return [...byChat].map(([chat, tasks]) => {
    const { histories, present } = people.screenOf(chat)
    const last = [...histories].filter(([id]) => present.has(id)).map(([, history]) => history.slice(-1))
    const copiesOf = (messages: Messages): number => copiesIn(messages, tasks, server.ended)
    const atWork = last.filter(([text = '']) => statusText.test(text)).length
    const copies = copiesOf(last)
    return { chat, tasks, messages: last.length, atWork, copies, copiesEver: copiesOf([...histories.values()]) }
  })
}

/** How a message ends while its answer goes on: with the id of the run, as in `Writing · step 2 · 4sgaxe`. */
const statusText = / · [0-9a-z]{6}\W*$/

/** The texts of each message. */
type Messages = readonly (readonly string[])[]

/** How an answer ends whose request was rejected. It names no task. The reply to a /stop has no colon. */
const rejectedText = /^\W*Stopped:/

/** How many messages show what another one of the chat shows: the beginning or end of an answer, or a request. */
function copiesIn(messages: Messages, tasks: readonly Given[], ended: Seen['server']['ended']): number {
  const beyondFirst = (isIt: (text: string) => boolean, expected = 1): number =>
    Math.max(0, messages.filter((texts) => texts.some(isIt)).length - expected)
  const ofTasks = sumOf(tasks, ({ token }) => {
    const [ask, ending] = [askOf(token), endingOf(token)]
    const ofAnswer = [ending, ...beginningsOf(token)].map((words) => beyondFirst((text) => text.includes(words)))
    return Math.max(...ofAnswer) + beyondFirst((text) => text.startsWith('❓') && text.includes(ask))
  })
  const rejected = tasks.filter(({ token }) => ended.get(token) === 'rejected')
  return ofTasks + beyondFirst((text) => rejectedText.test(text), rejected.length)
}

/** Returns the places of tasks in the order in which the agent got them. */
function orderOf({ server, model }: Pick<Seen, 'server' | 'model'>): ReadonlyMap<string, number> {
  const order = new Map<string, number>()
  for (const { task } of server.tasks) if (!order.has(task.token)) order.set(task.token, order.size)
  for (const { scenario } of model.requests)
    if (scenario !== undefined && !order.has(scenario)) order.set(scenario, order.size)
  return order
}

/** Returns the tasks that the agent got before one that their person wrote earlier. */
function disorderedIn(seen: Pick<Seen, 'server' | 'model'>, given: readonly Given[]): readonly Given[] {
  const order = orderOf(seen)
  const latest = new Map<Chat, number>()
  return given.filter(({ chat, token }) => {
    const at = order.get(token)
    if (at === undefined) return false
    const before = latest.get(chat) ?? -1
    latest.set(chat, Math.max(before, at))
    return at < before
  })
}

/** Returns the tasks that the agent got before one of their chat that had been acknowledged when theirs was first delivered. */
function disorderedAsReceivedIn(
  seen: Pick<Seen, 'server' | 'model' | 'balancer'>,
  given: readonly Given[],
): readonly Given[] {
  const order = orderOf(seen)
  const deliveredAt = new Map<string, number>()
  const acknowledgedAt = new Map<string, number>()
  for (const { body, at, status, endedAt = Number.POSITIVE_INFINITY } of seen.balancer.deliveries) {
    const [token] = tasksIn(body).map((task) => task.token)
    if (token === undefined) continue
    if (!deliveredAt.has(token)) deliveredAt.set(token, at)
    if (status === 200 && !acknowledgedAt.has(token)) acknowledgedAt.set(token, endedAt)
  }
  const before = new Map<Chat, { readonly place: number; readonly acknowledgedAt: number }[]>()
  for (const { chat, token } of given) {
    const [place, at] = [order.get(token), acknowledgedAt.get(token)]
    if (place === undefined || at === undefined) continue
    before.set(chat, [...(before.get(chat) ?? []), { place, acknowledgedAt: at }])
  }
  return given.filter(({ chat, token }) => {
    const [place, at] = [order.get(token), deliveredAt.get(token)]
    if (place === undefined || at === undefined) return false
    return before.get(chat)?.some((one) => one.place > place && one.acknowledgedAt <= at)
  })
}
