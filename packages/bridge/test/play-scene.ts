import { vi } from 'vitest'
import { texts } from '../src/texts.ts'
import { type Made, startWorld, type World } from './lives.ts'
import { keyWithoutShard } from './shard-rows.ts'
import type { Job } from './surviving-agent.ts'
import { ann, colour, type Stage, says, scenes } from './write-scenes.ts'

/** Commits before something that is said and not kept. */
const unkept: readonly string[] = [
  'intake/receiver.ts put-if-absent seen',
  'intake/receiver.ts put-if-absent seen, put-if-absent refused',
  'intake/intake.ts dequeue inbox',
  'intake/inbox.ts dequeue inbox',
  'commands/dispatch.ts dequeue inbox',
  'runs/agent-stops.ts remove stopping',
  'failed/unreadable-rows.ts dequeue inbox, put failed/row',
]

/** The bridge tells a person with one of these to try again. */
const again = new RegExp(
  [texts.notTaken, texts.stateFails, 'so the command may or may not have run', texts.maybeAnswered]
    .map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('|'),
)
/** A kind of commit, and the scene in which a fault of it is tested. */
export interface Kind extends Pick<Made, 'site'> {
  readonly scene: string
  readonly name: string
  readonly rows: readonly string[]
}

/** How bridges are set up in a scene, and which kind of commit has a fault. */
type Setup = Pick<Parameters<typeof startWorld>[0], 'isShared' | 'target' | 'fault'>

/** Plays all scenes without a fault. Resolves with the kinds of commits that they make, each for the first one that makes it. */
export async function recordKinds(setup: Pick<Setup, 'isShared'> = {}): Promise<readonly Kind[]> {
  const kinds = await recordAllKinds(setup)
  return kinds.filter(({ name }, index) => kinds.findIndex((one) => one.name === name) === index)
}

/** Like `recordKinds`, but with each kind for each scene that makes it. */
export async function recordAllKinds(setup: Pick<Setup, 'isShared'> = {}): Promise<readonly Kind[]> {
  const kinds: Kind[] = []
  for (const scene of Object.keys(scenes)) {
    const { commits } = await playScene(scene, setup).catch((error: Error) => {
      throw new Error(`${scene}: ${error.message}`, { cause: error })
    })
    kinds.push(...[...commits].map(([name, { site, rows }]) => ({ scene, name, site, rows: [...rows] })))
  }
  return kinds
}

/** Plays a scene, and what comes after it. Rejects if something is stranded, doubled or lost. */
export async function playScene(name: string, setup: Setup = {}): Promise<World> {
  const scene = scenes[name]
  if (!scene) throw new Error(`There is no scene ${name}.`)
  const { stays = [] } = scene
  const held = new Map<string, Job>()
  const answers: unknown[] = []
  const popups: { readonly chat: number; readonly text: string }[] = []
  const chance = scene.random && vi.spyOn(Math, 'random').mockImplementation(scene.random)
  const world = await startWorld({ act, ...scene, ...setup })
  let repeats = 0
  const { fault, isShared } = setup
  const kind = setup.target?.replace(/:\d+/, '') ?? ''
  /** The words of the bridge that are not kept in the state are lost with its process, and people write again. */
  const mayBeSilent = fault?.type === 'dies' && fault.isMade && unkept.includes(kind)
  /** Whether nothing was said in another chat, where a post may have been on its way when the process died. */
  const isOnlyChat = (): boolean => [2, 3, -5].every((chat) => world.said(chat).length === 0)
  /** A post whose result is not known is repeated once. */
  const mayRepeat = (): boolean =>
    fault?.type === 'fenced' || (fault?.type === 'dies' && !(fault.isMade && kind.includes('shown') && isOnlyChat()))
  const repeated = new Set<string>()
  const isSaid = (chat: number, like: RegExp): boolean => world.said(chat).some((text) => like.test(text))
  const stage: Stage = {
    ...world,
    held,
    answers,
    popups,
    mayBeSilent,
    isEnded: fault?.type === 'dies' || fault?.type === 'fenced',
    insist,
    prompt,
    begin,
    tell,
    press,
    isSaid,
    isRepeated: (text) => void repeated.add(text),
  }
  try {
    await scene.play(stage)
    await prompt(1, 'and then')
    if (isShared) await readWhatIsSaid()
    await resendMissing()
    await isAtRest('at the end')
    await world.restart()
    await prompt(1, 'at last')
    await isAtRest('after a restart')
    await world.passes('the fault has happened', () => fault === undefined || world.isOver())
    const problems = [
      ...world.wrongs,
      ...twice(world.heard, false).map((text) => `The agent got "${text}" twice.`),
      ...[1, 2, 3, -5].flatMap((chat) => twice(world.said(chat)).map((text) => `Chat ${chat} has "${text}" twice.`)),
      ...rangTooOften(),
      ...[1, 2, 3, -5].flatMap((chat) =>
        isSaid(chat, /\bphone\b|\bnotices?\b/i) ? [`Chat ${chat} was told of a notice.`] : [],
      ),
    ]
    if (problems.length > 0)
      throw new Error(
        `${problems.join('\n')}\n${JSON.stringify(world.said(1))}\n${[...world.commits.keys()].join('\n')}`,
      )
    return world
  } finally {
    await world.close()
    chance?.mockRestore()
  }

  /** Returns what is there twice, although no person did anything twice. */
  function twice(all: readonly string[], isShown = true): readonly string[] {
    const isExcused = (text: string): boolean =>
      text.startsWith('Queued') || again.test(text) || (repeats > 0 && !text.startsWith('You said'))
    const copies = all.filter((text, index) => all.indexOf(text) !== index && !repeated.has(text) && !isExcused(text))
    if (!mayRepeat() || !isShown || copies.length !== 1) return copies
    repeated.add(copies[0] ?? '')
    return []
  }

  /** Returns the notices that rang again although no call was in doubt. */
  function rangTooOften(): readonly string[] {
    const { rang } = world.phone
    return rang.flatMap(({ id, text }, index) => {
      const again = rang.slice(0, index).filter((one) => one.id === id).length
      return again > (world.doubts.get(id) ?? 0) ? [`The phone rang ${again + 1} times with "${text}".`] : []
    })
  }

  function act(job: Job): void {
    const [word] = job.text.split(' ')
    const end = (): void => {
      job.write({ type: 'text', delta: says(job.text) })
      job.end()
    }
    const taken = (answer: unknown): void => {
      answers.push(answer)
      setImmediate(end)
    }
    if (word === 'hold' || word === '@fake_bot hold') {
      job.write({ type: 'text', delta: 'Working. ' })
      held.set(job.text, job)
    } else if (word === 'join') {
      for (const one of held.values()) one.end()
      end()
    } else if (word === 'ask') job.ask({ type: 'question', requestID: `que_${job.text}`, questions: [colour] }, taken)
    else if (word === 'touch') {
      const callID = `call_${job.text}`
      const state = { status: 'running', input: { command: job.text } } as const
      job.write({ type: 'tool', callID, tool: 'bash', state })
      const patterns = [job.text]
      const permission = { permission: 'bash', patterns, always: patterns, title: job.text, metadata: {} }
      job.ask({ type: 'permission', requestID: `per_${job.text}`, callID, ...permission }, taken)
    } else if (word !== 'silent') end()
  }

  async function insist(chat: number, what: string, doIt: () => void, isSo: () => boolean): Promise<void> {
    for (let nth = 1; ; nth++) {
      const toldAgain = (): number => world.said(chat).filter((text) => again.test(text)).length
      const before = toldAgain()
      const began = world.clock.now()
      doIt()
      const isSilent = (): boolean => mayBeSilent && world.isOver() && world.clock.now() - began > 30_000
      await world.passes(what, () => isSo() || toldAgain() > before || isSilent())
      if (isSo()) return
      if (nth === 4)
        throw new Error(
          `It never happened that ${what}, although a person tried again: ${JSON.stringify(world.said(chat))}`,
        )
      repeats++
      await world.passes('the state can be used again', world.isOver)
    }
  }

  async function prompt(chat: number, text: string): Promise<void> {
    await insist(
      chat,
      `${text} is answered`,
      () => say(chat, text),
      () => world.said(chat).some((one) => one.endsWith(says(text))),
    )
  }

  async function begin(chat: number, text: string): Promise<Job> {
    await insist(
      chat,
      `the agent gets ${text}`,
      () => say(chat, text),
      () => world.heard.includes(text),
    )
    await world.passes('it begins', () => held.has(text) || !text.startsWith('hold'))
    const job = held.get(text)
    const release = (): void => {
      job?.write({ type: 'text', delta: says(text) })
      job?.end()
    }
    return { ...(job as Job), end: release }
  }

  function say(chat: number, text: string): void {
    if (chat > 0) world.telegram.say(chat, text)
    else
      world.telegram.say(chat, text.startsWith('/') ? text.replace(/^\/\w+/, '$&@fake_bot') : `@fake_bot ${text}`, {
        from: ann,
      })
  }

  async function tell(chat: number, text: string, like: RegExp): Promise<void> {
    await insist(
      chat,
      `${text} is answered with ${like}`,
      () => say(chat, text),
      () => isSaid(chat, like),
    )
  }

  async function press(chat: number, label: string, isSo: () => boolean, askAgain?: () => void): Promise<void> {
    for (let nth = 1; nth <= 4 && !isSo(); nth++) {
      const find = () =>
        world.telegram.screen(chat).findLast(({ buttons }) => buttons.flat().some((one) => one.text === label))
      await world.passes(`there is a button ${label}`, () => isSo() || find() !== undefined)
      if (isSo()) return
      const pressed = world.telegram.press(chat, find()?.messageId ?? 0, label)
      let settledAt: number | undefined
      await world.passes(`a press on ${label} does something`, () => {
        if (pressed.status !== 'waiting' && settledAt === undefined) {
          settledAt = world.clock.now()
          popups.push({ chat, text: pressed.text ?? '' })
        }
        return isSo() || (settledAt !== undefined && world.clock.now() > settledAt + 5000)
      })
      if (nth > 1) repeats++
      if (!isSo() && askAgain && pressed.text === texts.buttonGone) {
        const gone = find()?.messageId
        askAgain()
        await world.passes(`there is another button ${label}`, () => isSo() || find()?.messageId !== gone)
      }
      await world.passes('the state can be used again', () => isSo() || fault === undefined || world.isOver())
    }
    if (!isSo()) throw new Error(`Presses on ${label} did nothing. ${JSON.stringify(world.said(chat))}`)
  }

  /** What another member says about the chats that it took comes later than its answers. */
  async function readWhatIsSaid(): Promise<void> {
    await world.passes('the state can be used', world.isUsable)
    const usableAt = world.clock.now()
    await world.passes('people read what is said', () => world.clock.now() > usableAt + 5000)
  }

  /** People have posted again what they are told may be missing. */
  async function resendMissing(): Promise<void> {
    for (const chat of [1, 2, -5]) {
      const isMissing = (): boolean =>
        [...world.memory.values.keys()].some((key) =>
          keyWithoutShard(key).startsWith(`failed/delivery/telegram/${chat}/`),
        )
      const isTold = (): boolean => isSaid(chat, /may be missing here/)
      await world.passes('what may be missing is told or posted', () => isTold() || !isMissing())
      if (!isMissing()) continue
      repeats++
      await insist(
        chat,
        'it is posted again',
        () => say(chat, '/resend'),
        () => !isMissing(),
      )
    }
  }

  /** Nothing waits, runs, or was lost. */
  async function isAtRest(when: string): Promise<void> {
    const left = (): readonly string[] => {
      const { values, queues } = world.memory
      const open = [...values].filter(([key, { value }]) =>
        key.startsWith('execution/')
          ? !['done'].includes(JSON.parse(value).phase)
          : /^(failed|alone|late|unknown|notice)/.test(key),
      )
      const keys = [...open.map(([key]) => key), ...queues.keys()]
      return keys.filter((key) => !stays.some((prefix) => keyWithoutShard(key).startsWith(prefix)))
    }
    await world
      .passes(`nothing is left ${when}: ${left()}`, () => left().length === 0, 30_000)
      .catch((error: Error) => {
        throw new Error(`${left()} are left ${when}.\n${error.message}`)
      })
  }
}
