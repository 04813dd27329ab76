import { setTimeout as pause } from 'node:timers/promises'
import { callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'
import type { FakeTelegram } from '@reply/testing/telegram'

/** What a person does with one prompt, and what the agent does meanwhile. */
export type Kind = 'answer' | 'tool' | 'permission' | 'question' | 'stop' | 'steer'

const kinds: readonly Kind[] = ['answer', 'tool', 'permission', 'question', 'stop', 'steer']

/** How many prompts a plan has. Every answer is told apart by its number. */
const prompts = 4
export const chat = 1000

const numbers = Array.from({ length: prompts }, (_, index) => index)
export const answerOf = (index: number): string => `This is answer ${index}, and it is a little longer. It ends.`
export const commandOf = (index: number): string => `touch allowed-${index}`
const beginningOf = (index: number): string => `It goes on and on, ${index}.`
const questions = [{ header: 'Colour', question: 'Which?', options: [{ label: 'Blue', description: 'Cool' }] }]

export const scripts: Scripts = Object.fromEntries(
  numbers.flatMap((index): (readonly [string, Scripts[string]])[] => {
    const end = [sayText(answerOf(index), 8)]
    const bash = (command: string) => [callTool('bash', { command, description: 'Work' })]
    const begun = sayText(beginningOf(index))
    return [
      [`answer${index}`, { steps: [end] }],
      [`tool${index}`, { steps: [bash('sleep 0.2'), end] }],
      [`permission${index}`, { steps: [bash(commandOf(index)), end] }],
      [`question${index}`, { steps: [[callTool('question', { questions })], end] }],
      [`stop${index}`, { steps: [[begun, holdAnswer('nobody releases this'), ...end]] }],
      // Whether the agent hears the person in time is open.
      [`steer${index}`, { steps: [[begun, ...bash('sleep 1')], [sayText('Nobody told me.')]] }],
      [`steered${index}`, { steps: [end] }],
    ]
  }),
)

export function planBy(random: () => number): readonly Kind[] {
  const plan = Array.from({ length: prompts }, () => kinds[Math.floor(random() * kinds.length)] ?? 'answer')
  // A stop also ends what was passed on right before it: such a plan would have two right ends.
  if (!plan.includes('steer')) return plan
  const first = plan.indexOf('steer')
  // What is steered after its turn joins the next one, and takes the place of the answer there if that has more steps.
  return plan.map((kind, index) => (kind === 'stop' || (index > first && kind !== 'steer') ? 'answer' : kind))
}

/** What a session of the server holds of a plan. */
export interface Posted {
  readonly prompt: string
  /** Its run is over. */
  readonly isOver: boolean
  /** The commands that ran to their end. */
  readonly commands: readonly string[]
}

export interface PersonOptions {
  readonly seed: number
  readonly plan: readonly Kind[]
  readonly telegram: FakeTelegram
  /** The prompts of the plan, as the server has them. */
  readonly posted: () => Promise<readonly Posted[]>
}

/** A person who answers what is asked, stops and steers, and does it again if that seems to have had no effect. */
export interface Person {
  /** Looks at the screen once, and does what is due. */
  act(): Promise<void>
  /** Resolves with whether everything ended as it should. `false`: nothing happened for a long time before that. */
  finish(): Promise<boolean>
}

/** How long a person waits before pressing again, in ms. */
const patienceMs = 1500
/** How often a person looks, in ms, and how often in vain before giving up. A loaded machine is slow, but goes on. */
const lookMs = 200
const mostLooksInVain = 300

export function createPerson({ seed, plan, telegram, posted }: PersonOptions): Person {
  const pressedAt = new Map<number, number>()
  const steered = new Set<number>()
  /** By the number of a prompt: how many commands the bot was in doubt of when it was stopped. */
  const stopped = new Map<number, number>()
  return { act, finish }

  async function act(): Promise<void> {
    const words = said(telegram).join('\n')
    press('Allow once')
    press('Blue')
    for (const [index, kind] of plan.entries()) {
      if (kind === 'stop') await stop(index, words.split(doubt).length - 1)
      if (kind === 'steer' && !steered.has(index) && words.includes(beginningOf(index))) {
        steered.add(index)
        telegram.say(chat, `/steer ${steerOf(index, seed)} [scenario:steered${index}]`)
      }
    }
  }

  function press(label: string): void {
    for (const { messageId, buttons } of telegram.screen(chat)) {
      if (!buttons.flat().some((button) => button.text === label)) continue
      if (Date.now() - (pressedAt.get(messageId) ?? 0) < patienceMs) continue
      pressedAt.set(messageId, Date.now())
      telegram.press(chat, messageId, label)
    }
  }

  async function stop(index: number, doubts: number): Promise<void> {
    if ((stopped.get(index) ?? -1) >= doubts) return
    // What a text says is known over REST only when the text has ended, so it may be on no screen after a restart.
    const run = (await posted()).find(({ prompt }) => prompt.includes(promptOf(index, seed)))
    if (run?.isOver !== false) return
    stopped.set(index, doubts)
    telegram.say(chat, '/stop')
  }

  async function finish(): Promise<boolean> {
    let [before, inVain] = ['', 0]
    while (inVain < mostLooksInVain) {
      await act()
      const all = await posted()
      const words = said(telegram).join('\n')
      const now = JSON.stringify([all, words])
      inVain = now === before ? inVain + 1 : 0
      before = now
      const isDone = plan.every((kind, index) => {
        if (words.includes(answerOf(index))) return true
        // A stopped run has no answer, nor has one whose steering was cut off.
        const isAnswered = kind !== 'stop' && (kind !== 'steer' || !isInDoubt(words) || steeredIn(all, index, seed))
        return !isAnswered && all.some(({ prompt, isOver }) => isOver && prompt.includes(promptOf(index, seed)))
      })
      if (isDone) return true
      await pause(lookMs)
    }
    return false
  }
}

const doubt = 'may or may not have run'
const isInDoubt = (words: string): boolean => words.includes(doubt)

export const promptOf = (index: number, seed: number): string => `Number ${index} of ${seed} `
const steerOf = (index: number, seed: number): string => `Steer ${index} of ${seed}`

const steeredIn = (all: readonly Posted[], index: number, seed: number): boolean =>
  all.some(({ prompt }) => prompt.includes(`${steerOf(index, seed)} `))

/** The bot's messages in their order. */
export function said(telegram: FakeTelegram): readonly string[] {
  return telegram.screen(chat).flatMap(({ from, text: words }) => (from === 'bot' ? [words] : []))
}

export interface Outcome extends Pick<PersonOptions, 'seed' | 'plan'> {
  readonly words: readonly string[]
  readonly posted: readonly Posted[]
  /** How many posts the ledgers are in doubt of. */
  readonly doubtful: number
}

/** What was lost, run twice or shown twice, in words. */
export function faultsOf({ seed, plan, words, posted, doubtful }: Outcome): readonly string[] {
  const shown = plan.map((_, index) => words.filter((one) => one.includes(answerOf(index))).length)
  const expected = plan.map((kind, index) => kind !== 'stop' && (kind !== 'steer' || steeredIn(posted, index, seed)))
  const copies = shown.reduce((sum, count) => sum + Math.max(0, count - 1), 0)
  // What is steered too late is queued behind the others.
  const order = words
    .flatMap((one) => /answer (\d)/.exec(one)?.[1] ?? [])
    .filter((one) => plan[Number(one)] !== 'steer')
  const isSteered = (steers: number): boolean => steers === 1 || (steers === 0 && isInDoubt(words.join('\n')))
  return [
    ...shown.flatMap((count, index) => (count === 0 && expected[index] ? [`answer ${index} is not shown`] : [])),
    ...shown.flatMap((count, index) => (count > 0 && !expected[index] ? [`answer ${index} came after its stop`] : [])),
    ...(copies > doubtful ? [`${copies} copies, of which ${doubtful} are counted`] : []),
    ...(order.join() === order.toSorted().join() ? [] : [`the order is ${order.join()}`]),
    ...plan.flatMap((kind, index) => {
      const count = posted.filter(({ prompt }) => prompt.includes(promptOf(index, seed))).length
      const steers = posted.filter(({ prompt }) => prompt.includes(`${steerOf(index, seed)} `)).length
      const ran = posted.flatMap(({ commands }) => commands).filter((one) => one === commandOf(index)).length
      return [
        ...(count === 1 ? [] : [`prompt ${index} was posted ${count} times`]),
        ...(kind !== 'steer' || isSteered(steers) ? [] : [`steered ${index} ${steers} times`]),
        ...(ran === (kind === 'permission' ? 1 : 0) ? [] : [`what was allowed ran ${ran} times`]),
      ]
    }),
  ]
}
