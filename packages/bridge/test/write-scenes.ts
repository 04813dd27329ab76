import { type Client, ReplyError } from '@reply/core'
import type { SavedRule } from '@reply/core/source'
import { PortError } from '@reply/sink/channel'
import type { StoreMemory } from '../src/testing.ts'
import { texts } from '../src/texts.ts'
import { awayMs, type LifeOptions, type World } from './lives.ts'
import { keyOfChat, keyWithoutShard, telegramChat } from './shard-rows.ts'
import type { Job } from './surviving-agent.ts'

/** What people do with a bridge, so that it makes certain kinds of commits. */
export interface Scene {
  readonly life?: LifeOptions
  /** Replaces `Math.random` if the scene depends on chance. */
  readonly random?: () => number
  /** Rows that an earlier process left. */
  readonly seed?: (memory: StoreMemory, now: number) => void
  /** Rejects if a person is told something wrong, or nothing. */
  readonly play: (stage: Stage) => Promise<void>
  /** Prefixes of rows that stay. Default: none of those that a person or a process has to handle. */
  readonly stays?: readonly string[]
}

/** A world, with people who repeat what they are told to repeat. */
export interface Stage extends World {
  /** The jobs that wait for `release`, by their prompts. */
  readonly held: Map<string, Job>
  /** The answers to presses. */
  readonly popups: { readonly chat: number; readonly text: string }[]
  /** The answers that the agent took. */
  readonly answers: unknown[]
  /** Whether what is said next is lost with the process. */
  readonly mayBeSilent: boolean
  /** Whether a process ends or is overtaken in the scene. */
  readonly isEnded: boolean
  /** Acts, and again if the person is told to, until it is so. */
  insist(chat: number, what: string, act: () => void, isSo: () => boolean): Promise<void>
  /** Writes a prompt, and resolves when it is answered. */
  prompt(chat: number, text: string): Promise<void>
  /** Writes a prompt, and resolves when the agent has it. */
  begin(chat: number, text: string): Promise<Job>
  /** Writes something, and resolves when the bot says something like that. */
  tell(chat: number, text: string, like: RegExp): Promise<void>
  /**
   * Presses a button, and resolves when it is so. `askAgain`: what the person does if the button no longer works, because the
   * process that posted it could not store it.
   */
  press(chat: number, label: string, isSo: () => boolean, askAgain?: () => void): Promise<void>
  /** Tells that this is there twice, because a person says so. */
  isRepeated(text: string): void
  /** Whether the bot said something like that in a chat. */
  isSaid(chat: number, like: RegExp): boolean
}

/** The person of chat 1 in a group. */
export const ann = { id: 1, name: 'Ann' }
const people: NonNullable<Parameters<Stage['setPeople']>[0]> = {
  ann: { ids: ['telegram:1'], may: ['prompt', 'approve', 'admin'] },
  bob: { ids: ['telegram:2'], may: ['prompt'] },
}
/** A question with an answer of its own. */
export const colour = { header: 'Colour', question: 'Which colour?', options: [], multiple: false, custom: true }
const post = /^send(Rich)?Message$/
/** The agent's answer to a prompt. */
export const says = (text: string): string => `You said: ${text}.`

const { random } = Math
const rules: SavedRule[] = []
const lost = new Map<string, string | undefined>()
/** Whether the server no longer knows what it does: from when the scene says so. */
let isForgotten = false
/** How often the chat could not be told that a request waits. Undefined while it can be. */
let untold: number | undefined
const promptIn = (channel: string, text: string) => ({
  ...{ channel, chat: { id: '1', kind: 'private' }, id: '9', actor: { id: '1', name: 'Ann' }, text, files: [] },
  ...{ isCommand: false, messageRef: { id: '9' }, receivedAt: 1 },
})
const execution = {
  ...{
    id: 'abc123',
    prompt: promptIn('telegram', 'left'),
    server: 'home',
    sessionID: 'ses_9',
    phase: 'posting',
    status: 'running',
    startedAt: 1,
  },
  posted: { sessionID: 'ses_9', messageID: 'msg_9', text: 'left', at: 1 },
}
const inChat = (chat: number, key: string): string => keyOfChat(telegramChat(chat), key)
const row = (value: object) => ({ value: JSON.stringify(value), expiresAt: undefined })

const clientWith =
  (change: Partial<Client>) =>
  (client: Client): Client => ({ ...client, ...change })
const inState = ({ memory }: Stage, prefix: string): number =>
  [...memory.values.keys(), ...memory.queues.keys()].filter((key) => keyWithoutShard(key).startsWith(prefix)).length

const rings = ({ phone }: Stage, kind: string): number => phone.rang.filter((one) => one.kind === kind).length
/** A voice note that its transcriber reads as text. */
const speak = ({ telegram }: Stage, chat: number, text: string): void => {
  const bytes = new TextEncoder().encode(text)
  telegram.say(chat, '', { file: { kind: 'document', bytes, mime: 'audio/mpeg', name: 'spoken.mp3' } })
}
/** People who have a phone. */
const withPhone: LifeOptions['people'] = {
  ann: { ids: ['telegram:1'], may: ['prompt', 'approve', 'admin'], notify: ['phone'] },
  bob: { ids: ['telegram:2'], may: ['prompt'], notify: ['phone'] },
}

/** A command with an id and a time of its own: the fake would give it an id that is lower than those of what an earlier process left. */
function pushCommand(
  { telegram }: Pick<Stage, 'telegram'>,
  { id, name }: typeof ann,
  message: { readonly message_id: number; readonly date: number; readonly text: string },
): void {
  const chat = { chat: { id, type: 'private' }, from: { id, is_bot: false, first_name: name } }
  const [command] = message.text.split(' ')
  telegram.push('message', {
    ...message,
    ...chat,
    entities: [{ type: 'bot_command', offset: 0, length: command?.length ?? 0 }],
  })
}

/** Bob's prompt, which ended processes before and so waits for its turn, and then `/stop`. No one knows any more when that was received. */
function lateStop(suspicion: { readonly level: number; readonly points: number }): Scene {
  return {
    seed: ({ values, queues }) => {
      const left = (id: string, text: string) => ({
        ...{ ...promptIn('telegram', text), chat: { id: '2', kind: 'private' }, actor: { id: '2', name: 'Bob' } },
        ...{ id, messageRef: { id } },
      })
      queues.set(
        inChat(2, 'prompts/telegram/2/'),
        new Map([['703', JSON.stringify({ ...left('703', 'held'), tries: 13 })]]),
      )
      const held = encodeURIComponent('prompts/telegram/2//#703')
      values.set(inChat(2, `suspect/${held}`), row(suspicion))
      const stop = { ...left('704', '/stop'), isCommand: true, isUnbegun: true }
      queues.set(inChat(2, 'inbox/telegram/2/'), new Map([['704', JSON.stringify(stop)]]))
    },
    play: async (stage) => {
      const { passes, insist, isSaid, heard, memory, clock, mayBeSilent } = stage
      // After a restart, its turn may come first.
      const isOver = (): boolean =>
        mayBeSilent || isSaid(2, /^Stopped|may or may not have run/) || heard.includes('held')
      let id = 705
      // The first one is stored. He sends another one once he is told to.
      const stopAgain = (): void => {
        if (!isSaid(2, /^It could not be stopped/)) return
        pushCommand(
          stage,
          { id: 2, name: 'Bob' },
          { message_id: id++, date: Math.floor(clock.now() / 1000), text: '/stop' },
        )
      }
      await insist(2, 'it is stopped', stopAgain, isOver)
      await passes('it waits no longer', () => !memory.queues.has(inChat(2, 'prompts/telegram/2/')), 600_000)
    },
  }
}

/** Answers the question in a chat, as the `nth` answer of the scene. */
async function answerColour(stage: Stage, chat: number, nth: number): Promise<void> {
  await stage.passes('it is shown', () => stage.isSaid(chat, /Which colour/))
  const isQueued = (): boolean => stage.isSaid(chat, /^Queued, number 1/)
  const answer = async (isDone: () => boolean): Promise<void> =>
    await stage.insist(
      chat,
      'it is answered',
      () => stage.answers.length < nth && stage.telegram.say(chat, 'Blue'),
      isDone,
    )
  await answer(() => stage.answers.length === nth || isQueued())
  // It was written before the question was posted again, whose first post is in doubt. The person is told, and says it again.
  if (isQueued()) {
    await stage.tell(chat, '/queue drop 1', /^Removed number 1/)
    await answer(() => stage.answers.length === nth)
  }
}

/** Begins a run of the session of chat 1 that no chat began, and that asks. Resolves when the chat shows that. */
async function askElsewhere(stage: Stage): Promise<Job> {
  const woken = await beginElsewhere(stage)
  await stage.passes('it is shown', () => stage.isSaid(1, /In home.*Colour/))
  return woken
}

/** Begins a run of the session of chat 1 that no chat began, and that asks. */
async function beginElsewhere({ memory, restart, wake }: Stage): Promise<Job> {
  // As a day later: the run of the chat is forgotten, and the chat still works with the session.
  for (const key of [...memory.values.keys()])
    if (/^(home|newest)\//.test(keyWithoutShard(key)) || keyWithoutShard(key).startsWith('execution/'))
      memory.values.delete(key)
  await restart()
  const woken = wake()
  woken.ask({ type: 'question', requestID: 'que_elsewhere', questions: [colour] }, () =>
    setImmediate(() => woken.end()),
  )
  return woken
}

/** Each makes a commit that none before it makes. `lost-answers.full.ts` fails if the sources have one that no scene makes. */
export const scenes: Readonly<Record<string, Scene>> = {
  'a message': { play: async ({ prompt }) => await prompt(1, 'first') },

  'a queue that is changed': {
    play: async (stage) => {
      const { begin, insist, tell, memory, heard, said, passes } = stage
      const isQueued = (text: string): boolean =>
        [...(memory.queues.get(inChat(1, 'prompts/telegram/1/')) ?? [])].some(
          ([, value]) => JSON.parse(value).text === text,
        )
      const first = await begin(1, 'hold one')
      for (const text of ['two', 'three'])
        await insist(
          1,
          `${text} is queued`,
          () => stage.telegram.say(1, text),
          () => isQueued(text),
        )
      await tell(1, '/queue edit 1 changed', /^Changed number 1/)
      const isDropped = (): boolean =>
        !isQueued('three') && stage.isSaid(1, /^Removed number 2|may or may not have run/)
      await insist(1, 'three is dropped', () => stage.telegram.say(1, '/queue drop 2'), isDropped)
      first.end()
      await passes('the changed one is answered', () => said(1).includes(says('changed')))
      if (heard.includes('three') || heard.includes('two'))
        throw new Error('It ran although it was dropped or changed.')
    },
  },

  'a message that steers': {
    life: { router: { busy: 'steer' } },
    play: async ({ begin, insist, telegram, heard }) => {
      await begin(1, 'hold one')
      await insist(
        1,
        'it steers',
        () => telegram.say(1, 'join two'),
        () => heard.includes('join two'),
      )
    },
  },

  'a command that steers': {
    play: async (stage) => {
      const { begin, insist, telegram, heard, said, passes } = stage
      await begin(1, 'hold one')
      await insist(
        1,
        'it steers',
        () => telegram.say(1, '/steer join two'),
        () => heard.includes('join two'),
      )
      await passes('it is shown', () => said(1).some((text) => text.includes(says('join two'))))
      await insist(
        1,
        'it runs',
        () => telegram.say(1, '/steer three'),
        () => heard.includes('three'),
      )
      // It may run before the person is told that it may have.
      const ranAt = stage.clock.now()
      await passes('the person reads what is said about it', () => stage.clock.now() > ranAt + 5000)
    },
  },

  'an album': {
    play: async ({ telegram, insist, passes, heard }) => {
      const isHeard = (text: string): boolean => heard.some((one) => one.split('\n').includes(text))
      const send = (text: string): void =>
        void telegram.say(1, text, { file: { bytes: new Uint8Array(3) }, albumId: '7' })
      send('look')
      await insist(
        1,
        'both are heard',
        () => send('here'),
        () => isHeard('here'),
      )
      await passes('the first is heard', () => isHeard('look'))
    },
  },

  'an album in a group': {
    play: async ({ telegram, insist, heard }) => {
      const isHeard = (text: string): boolean => heard.some((one) => one.split('\n').includes(text))
      const send = (text: string): void =>
        void telegram.say(-5, text, { from: ann, file: { bytes: new Uint8Array(3) }, albumId: '8' })
      await insist(
        -5,
        'the one that mentions the bot is heard',
        () => send('@fake_bot look'),
        () => isHeard('look'),
      )
      // Also if another process gets it.
      await insist(
        -5,
        'the one without a mention is heard',
        () => send('here'),
        () => isHeard('here'),
      )
    },
  },

  'what is refused': {
    life: {
      people: {
        ann: { ids: ['telegram:1'], may: ['prompt', 'approve', 'admin'] },
        bob: { ids: ['telegram:2'], may: ['approve'] },
      },
    },
    play: async (stage) => {
      const { tell, clock, insist, isSaid } = stage
      await tell(3, 'hello', /You are not on the list/)
      await tell(2, 'hello', /requires the right/)
      const old = { date: Math.floor(clock.now() / 1000) - 600, text: '/new Another' }
      let id = 700_000
      const send = (): void => pushCommand(stage, ann, { message_id: id++, ...old })
      await insist(1, 'the old command is refused', send, () =>
        isSaid(1, /sent while the bridge was down, so it was not run|may be missing here/),
      )
    },
  },

  'a queued prompt whose author loses the right': {
    play: async (stage) => {
      const { begin, telegram, memory, insist, passes, isSaid, heard } = stage
      const first = await begin(2, 'hold one')
      await insist(
        2,
        'it is queued',
        () => telegram.say(2, 'two'),
        () => memory.queues.has(inChat(2, 'prompts/telegram/2/')),
      )
      stage.setPeople({ ...people, bob: { ids: ['telegram:2'], may: ['admin'] } })
      first.end()
      await passes('Bob is told', () => isSaid(2, /^Not run: someone/) || isSaid(2, /may be missing here/))
      if (heard.includes('two')) throw new Error('It ran.')
      stage.setPeople(people)
    },
  },

  'a chat without a server': {
    life: { routes: { 'telegram:1': 'home' } },
    play: async ({ tell, insist, telegram, isSaid, heard }) => {
      const isTold = (): boolean => isSaid(2, /No server is configured/)
      await insist(
        2,
        'it is told',
        () => telegram.say(2, 'hello'),
        () => isTold() || isSaid(2, /may be missing here/),
      )
      if (!isTold()) await tell(2, '/resend', /No server is configured/)
      if (heard.length > 0) throw new Error('It ran.')
    },
  },

  'what another config left': {
    seed: ({ values, queues }) => {
      const gone = promptIn('gone', 'queued')
      const goneChat = { channel: 'gone', chat: { id: '1' } }
      queues.set(keyOfChat(goneChat, 'prompts/gone/1/'), new Map([['9', JSON.stringify(gone)]]))
      values.set(
        keyOfChat(goneChat, 'execution/gone/1//gone11'),
        row({ ...execution, id: 'gone11', prompt: promptIn('gone', 'run') }),
      )
      values.set(inChat(1, 'execution/telegram/1//left11'), row({ ...execution, id: 'left11', server: 'left' }))
    },
    play: async ({ passes, isSaid }) =>
      await passes('the chat is told', () => isSaid(1, /no longer in the bridge’s config|may be missing here/)),
  },

  'a run that its chat shows when its server leaves the config': {
    play: async (stage) => {
      await stage.begin(1, 'hold one')
      await stage.passes('it is shown', () => stage.isSaid(1, /Working/))
      await stage.restart({ server: 'other' })
      await stage.passes('it is closed', () => stage.isSaid(1, /no longer in the bridge’s config/))
    },
  },

  'a chat that is mirrored from now on': {
    play: async (stage) => {
      await stage.prompt(-5, 'zero')
      const one = await stage.begin(-5, 'hold one')
      await stage.insist(
        -5,
        'it is queued',
        () => stage.telegram.say(-5, '@fake_bot two', { from: ann }),
        () => inState(stage, 'prompts/telegram/-5') > 0,
      )
      await stage.restart({ mirrors: [['telegram:1', 'telegram:-5']] })
      one.end()
      await stage.passes('the queued one is answered', () => stage.isSaid(-5, /You said: two/))
    },
  },

  'an ask': {
    play: async (stage) => {
      await stage.begin(1, 'ask colour')
      await answerColour(stage, 1, 1)
      await stage.passes('it ends', () => stage.isSaid(1, /You said: ask colour/))
      if (stage.heard.includes('Blue')) throw new Error('The answer became a prompt.')
    },
  },

  'what is allowed for always': {
    life: {
      changed: (client) =>
        clientWith({
          savedRules: async () => rules,
          removeRule: async (id) =>
            void rules.splice(
              rules.findIndex((one) => one.id === id),
              1,
            ),
        })(client),
    },
    play: async (stage) => {
      rules.length = 0
      const { begin, press, answers, passes, tell, isSaid, insist, telegram } = stage
      const allow = async (what: string): Promise<void> => {
        const before = answers.length
        await begin(1, what)
        await press(1, 'Always', () => answers.length > before)
        rules.push({ id: what, permission: 'bash', pattern: what })
        await passes('it ends', () => isSaid(1, new RegExp(`You said: ${what}`)))
      }
      await allow('touch a')
      await allow('touch b')
      await tell(1, '/allowed', /1\. touch a[\s\S]*\d\. touch b/)
      await insist(
        1,
        'it is revoked',
        () => rules.length > 1 && telegram.say(1, '/allowed revoke 1'),
        () => rules.length === 1 && isSaid(1, /asks again before it runs this: touch a|may or may not have run/),
      )
      rules.length = 0
      await insist(
        1,
        'it is forgotten',
        () => telegram.say(1, '/allowed'),
        () => isSaid(1, /Nothing has been always allowed/),
      )
    },
  },

  'an answer that its chat does not take': {
    play: async (stage) => {
      stage.telegram.inject({ type: 'status', code: 502, chatId: 1, method: post, times: 2 })
      await stage.begin(1, 'first')
      await stage.passes(
        'the chat is told',
        () => stage.isSaid(1, /may be missing here/) || stage.isSaid(1, /You said: first/),
      )
      await stage.insist(
        1,
        'it is posted again',
        () => stage.telegram.say(1, '/resend'),
        () => stage.isSaid(1, /You said: first/),
      )
    },
  },

  'a prompt that the server refuses': {
    life: {
      changed: (client) =>
        clientWith({
          prompt: (input, options) => {
            if (input.text?.startsWith('refused')) throw new Error('The agent is out of order.')
            return client.prompt(input, options)
          },
        })(client),
    },
    play: async (stage) => {
      const isTold = () => stage.isSaid(1, /out of order/)
      await stage.insist(
        1,
        'it is told',
        () => stage.telegram.say(1, 'refused one'),
        () => isTold() || stage.isSaid(1, /may be missing/),
      )
      if (!isTold()) await stage.tell(1, '/resend', /out of order/)
      await stage.passes('the state can be used', stage.isUsable)
      stage.telegram.inject({ type: 'status', code: 502, chatId: 2, method: post })
      await stage.insist(
        2,
        'it is told',
        () => stage.telegram.say(2, 'refused two'),
        () => stage.isSaid(2, /may be missing|out of order/),
      )
      await stage.tell(2, '/resend', /out of order|No answer is known/)
    },
  },

  'a run that may have run': {
    life: {
      changed: (client) =>
        clientWith({
          // Only the first run of each is unknown.
          resume: async (posted, options) => {
            const text = posted.text ?? ''
            if (isForgotten && /^hold/.test(text) && !lost.has(text)) lost.set(text, posted.messageID)
            return lost.get(text) === posted.messageID && lost.has(text)
              ? { type: 'unknown' }
              : await client.resume(posted, options)
          },
        })(client),
    },
    play: async (stage) => {
      lost.clear()
      isForgotten = false
      const { begin, restart, press, passes, held, isSaid, tell, telegram, popups } = stage
      await begin(1, 'hold one')
      await begin(2, 'hold two')
      await stage.stop()
      isForgotten = true
      for (const job of held.values()) job.end()
      await restart()
      for (const chat of [1, 2]) {
        await passes('the chat is asked', () => isSaid(chat, /Run it again\?$|may be missing/))
        if (!isSaid(chat, /Run it again\?$/)) await tell(chat, '/resend', /Run it again\?$/)
      }
      const before = held.get('hold one')
      const resend = (chat: number) => (): void => void telegram.say(chat, '/resend')
      await press(1, 'Run it again', () => held.get('hold one') !== before, resend(1))
      const isLeft = (): boolean =>
        isSaid(2, /^Left alone/) ||
        (inState(stage, 'unknown/telegram/2') === 0 &&
          popups.some(({ chat, text }) => chat === 2 && text === texts.buttonGone))
      await press(2, 'Leave it', isLeft, resend(2))
      // It runs again because a person says so.
      stage.isRepeated('hold one')
      stage.isRepeated('Working.')
      for (const job of held.values()) job.end()
    },
  },

  'a run whose session is deleted meanwhile': {
    life: {
      changed: (client) =>
        clientWith({
          resume: async (posted, options) => {
            if (isForgotten && /^(hold|silent)/.test(posted.text ?? '')) throw new ReplyError('gone', 'It is gone.')
            return await client.resume(posted, options)
          },
        })(client),
    },
    play: async (stage) => {
      isForgotten = false
      await stage.begin(1, 'hold one')
      await stage.passes('it is shown', () => stage.isSaid(1, /Working/))
      await stage.begin(2, 'silent two')
      await stage.stop()
      isForgotten = true
      stage.held.get('hold one')?.end()
      await stage.restart()
      for (const chat of [1, 2])
        await stage.passes('it is told', () =>
          stage.isSaid(chat, /was deleted while the bridge was down|may be missing/),
        )
    },
  },

  'a prompt that was lost on its way': {
    play: async (stage) => {
      stage.loses(true)
      await stage.insist(
        1,
        'it is about to be posted',
        () => stage.telegram.say(1, 'one'),
        () =>
          [...stage.memory.values].some(
            ([key, { value }]) => key.startsWith('execution/') && value.includes('"phase":"posting"'),
          ),
      )
      stage.loses(false)
      await stage.restart()
      await stage.passes('it is answered', () => stage.said(1).includes(says('one')))
    },
  },

  'a run that is stopped': {
    play: async (stage) => {
      const { begin, tell, telegram, insist, memory, restart, passes } = stage
      await begin(1, 'hold one')
      await tell(1, '/stop', /Stopped\.|Nothing is running/)
      // It waits for its file, so it is not posted yet. That is asked for again by each process that has the chat.
      telegram.inject({ type: 'stall', method: 'getFile', times: 9 })
      const isPlanned = () =>
        [...memory.values].some(
          ([key, { value }]) =>
            keyWithoutShard(key).startsWith('execution/telegram/2') && value.includes('"phase":"planned"'),
        )
      await insist(2, 'it is planned', () => telegram.say(2, 'look', { file: { bytes: new Uint8Array(3) } }), isPlanned)
      const isStopped = () =>
        [...memory.values].some(
          ([key, { value }]) =>
            keyWithoutShard(key).startsWith('execution/telegram/2') && value.includes('"isCanceled":true'),
        )
      await insist(
        2,
        'it is stopped',
        () => telegram.say(2, '/stop'),
        () => isStopped() || (stage.isSaid(2, /may or may not have run/) && stage.heard.includes('look')),
      )
      await restart()
      await passes('it is over', () => !isPlanned())
      if (stage.heard.includes('look') && !stage.isSaid(2, /may or may not have run/)) throw new Error('It ran.')
    },
  },

  'a run that the Stop of the platform stops': {
    play: async ({ begin, insist, telegram, memory, isSaid }) => {
      await begin(1, 'hold one')
      const chat = { id: 1, type: 'private', first_name: 'Ann' }
      const isStopped = () =>
        [...memory.values].some(
          ([key, { value }]) =>
            keyWithoutShard(key).startsWith('execution/telegram/1') && value.includes('"isCanceled":true'),
        )
      await insist(
        1,
        'it is stopped',
        () => telegram.push('stopped_message_generation', { chat, draft_id: 1 }),
        () => isStopped() || isSaid(1, /may or may not have run|Nothing is running/),
      )
    },
  },

  'messages from when the bridge was down': {
    life: { router: { backlog: 'latest' } },
    play: async (stage) => {
      const { telegram, clock, stop, restart, passes, press, heard, isSaid, said, memory, isUsable } = stage
      await stop()
      for (const text of ['one', 'two', 'three']) telegram.say(1, text)
      for (const text of ['four', 'five']) telegram.say(2, text)
      await clock.advance(600_000)
      await restart()
      const isTold = (chat: number) => isSaid(chat, new RegExp(texts.notTaken))
      await passes(
        'the newest are answered',
        () => (said(1).includes(says('three')) && said(2).includes(says('five'))) || isTold(1) || isTold(2),
      )
      if (isTold(1) || isTold(2)) {
        for (const chat of [1, 2]) {
          const isLeft = () => memory.queues.has(inChat(chat, `backlog/telegram/${chat}/`))
          const isListed = () =>
            [...(memory.queues.get(inChat(chat, `backlog/telegram/${chat}/`))?.values() ?? [])].every(
              (value) => JSON.parse(value).left === 'listed',
            )
          await passes(
            'it is decided',
            () => isUsable() && !memory.queues.has(inChat(chat, `inbox/telegram/${chat}/`)) && isListed(),
          )
          if (isLeft()) await press(chat, 'Leave them', () => !isLeft())
        }
        return
      }
      await press(1, 'Run 1', () => heard.includes('one'))
      await press(1, 'Leave them', () => isSaid(1, /^Left alone/))
      await press(2, 'Leave them', () => isSaid(2, /^Left alone/))
      if (heard.includes('two') || heard.includes('four')) throw new Error('It ran.')
    },
  },

  'messages from when the bridge was down that nobody chose': {
    seed: ({ queues }, now) => {
      const old = { ...promptIn('telegram', 'old'), isOld: true, left: 'listed', receivedAt: now - 40 * 86_400_000 }
      queues.set(inChat(1, 'backlog/telegram/1/'), new Map([['9', JSON.stringify(old)]]))
      queues.set(
        inChat(2, 'backlog/telegram/2/'),
        new Map([
          [
            '9',
            JSON.stringify({
              ...promptIn('telegram', 'undecided'),
              chat: { id: '2', kind: 'private' },
              actor: { id: '2', name: 'Bob' },
            }),
          ],
        ]),
      )
    },
    play: async ({ clock, passes, memory, said }) => {
      await passes('it is decided', () => said(2).includes(says('undecided')))
      // In steps, in which the leases are renewed.
      const until = clock.now() + 600_000
      await passes('ten minutes are over', () => clock.now() >= until, 700_000)
      await passes('it is removed', () => !memory.queues.has(inChat(1, 'backlog/telegram/1/')), 1_300_000)
    },
  },

  'what an earlier process began': {
    seed: ({ values, queues }) => {
      const entry = (id: string, tries?: number, chat = '1') =>
        [
          id,
          JSON.stringify({ ...promptIn('telegram', `left ${id}`), chat: { id: chat }, id, messageRef: { id }, tries }),
        ] as const
      queues.set(inChat(1, 'inbox/telegram/1/'), new Map([entry('700'), entry('701', 2), entry('702', 6)]))
      queues.set(inChat(2, 'prompts/telegram/2/'), new Map([entry('703', 6, '2')]))
      queues.set(inChat(-5, 'backlog/telegram/-5/'), new Map([entry('704', 6, '-5')]))
      values.set(inChat(1, 'execution/telegram/1//poison'), row({ ...execution, id: 'poison', tries: 6 }))
      for (const [chat, name] of [
        [1, 'inbox/telegram/1//#702'],
        [2, 'prompts/telegram/2//#703'],
        [-5, 'backlog/telegram/-5/'],
        [1, 'execution/telegram/1//poison'],
      ] as const)
        values.set(inChat(chat, `suspect/${encodeURIComponent(name)}`), row({ level: 0, points: 5 }))
      // It takes its turn.
      const held = encodeURIComponent('execution/telegram/1//alone1')
      values.set(inChat(1, `suspect/${held}`), row({ level: 0, points: 3 }))
      values.set(
        inChat(1, 'execution/telegram/1//alone1'),
        row({ ...execution, id: 'alone1', posted: undefined, phase: 'planned', tries: 2 }),
      )
      // The run was put aside, and its agent was not stopped yet.
      values.set(inChat(1, 'stopping/telegram/1//aside9'), row({ ...execution, id: 'aside9', sessionID: 'ses_9' }))
    },
    play: async ({ passes, said, isSaid, memory }) => {
      const isAside = () =>
        said(1).filter((text) =>
          /^The bridge ended several times|The disk is full|use its state|may be missing/.test(text),
        ).length
      for (const text of ['left 700', 'left 701', 'left'])
        await passes(`${text} is answered`, () => said(1).some((one) => one.endsWith(says(text))) || isAside() > 2)
      for (const chat of [1, 2, -5])
        await passes('the rest is told', () => isSaid(chat, /^The bridge ended several times|may be missing/))
      await passes(
        'the agents are stopped',
        () => ![...memory.values.keys()].some((one) => one.startsWith('stopping/')),
      )
    },
    stays: ['failed/poison'],
  },

  'a stop of an earlier process that ended each process': {
    seed: ({ values }) => {
      const name = encodeURIComponent('stopping/telegram/1//aside8')
      values.set(inChat(1, 'stopping/telegram/1//aside8'), row({ ...execution, id: 'aside8' }))
      values.set(inChat(1, `suspect/${name}`), row({ level: 0, points: 5 }))
    },
    play: async (stage) => {
      await stage.passes('it is given up', () => inState(stage, 'stopping/') === 0)
      await stage.passes(
        'the chat is told',
        () => stage.mayBeSilent || stage.isSaid(1, /^It could not be stopped: The bridge ended each time/),
      )
    },
  },

  'a late /stop of a prompt that waits for its turn': {
    // It waits for almost two minutes, so a /stop ends it and not its turn.
    random: () => 0.9 + random() / 10,
    ...lateStop({ level: 7, points: 13 }),
  },

  // It waits for a second at most, and the command for two: its run is stopped while its prompt is about to be posted.
  'a late /stop of a prompt whose turn comes': lateStop({ level: 0, points: 1 }),

  'what another member received': {
    seed: ({ queues }) => {
      const stored = (id: string) =>
        [
          id,
          JSON.stringify({
            ...promptIn('telegram', `left ${id}`),
            ...{ chat: { id: '1' }, id, messageRef: { id }, isUnbegun: true },
          }),
        ] as const
      queues.set(inChat(1, 'inbox/telegram/1/'), new Map([stored('700'), stored('701')]))
    },
    play: async ({ passes, said }) => {
      for (const text of ['left 700', 'left 701'])
        await passes(`${text} is answered`, () => said(1).some((one) => one.endsWith(says(text))))
    },
  },

  'rows that can not be read': {
    seed: ({ values, queues }) => {
      queues.set(inChat(1, 'inbox/telegram/1/'), new Map([['700', 'nothing']]))
      values.set(inChat(1, 'execution/telegram/1//broken'), row({}))
    },
    play: async ({ passes, isSaid, memory, mayBeSilent }) => {
      await passes(
        'they are put aside',
        () => [...memory.values.keys()].filter((key) => keyWithoutShard(key).startsWith('failed/row')).length === 2,
      )
      await passes('the chat is told', () => mayBeSilent || isSaid(1, /could not be read/))
    },
    stays: ['failed/row'],
  },

  'a session that another process handed over': {
    play: async ({ prompt, wake, memory, restart, passes, isSaid }) => {
      await prompt(1, 'one')
      const handedOver = inChat(1, 'wake/home/ses_1')
      memory.values.set(handedOver, { value: '', expiresAt: undefined })
      await restart()
      await passes('it is watched', () => !memory.values.has(handedOver))
      const woken = wake()
      woken.write({ type: 'text', delta: 'Still there.' })
      woken.end()
      await passes('it is shown', () => isSaid(1, /Still there/))
    },
  },

  'a session that goes on by itself': {
    play: async ({ prompt, wake, passes, isSaid }) => {
      await prompt(1, 'one')
      const woken = wake()
      woken.write({ type: 'text', delta: 'By itself.' })
      woken.end()
      await passes('it is shown', () => isSaid(1, /By itself/))
    },
  },

  'a session that goes on by itself and is stopped': {
    play: async ({ prompt, wake, passes, isSaid, tell }) => {
      await prompt(1, 'one')
      wake().write({ type: 'text', delta: 'By itself.' })
      await passes('it is shown', () => isSaid(1, /By itself/))
      await tell(1, '/stop', /Stopped\.|Nothing is running/)
    },
  },

  'a request of a run that was started elsewhere': {
    seed: ({ values }) => {
      // Its session is gone.
      const lost = {
        ...execution,
        ...{ id: 'fol234', sessionID: 'ses_gone', phase: 'delivering', posted: undefined, startedBy: 'msg_gone' },
        ...{
          followed: 'asks',
          origin: 'From the terminal, shop',
          prompt: { ...execution.prompt, actor: { id: '', name: '' } },
        },
      }
      values.set(inChat(1, 'execution/telegram/1//fol234'), row(lost))
    },
    play: async (stage) => {
      const { prompt, tell, memory, passes, isSaid } = stage
      await passes('the lost one is over', () => {
        const value = memory.values.get(inChat(1, 'execution/telegram/1//fol234'))?.value
        return value?.includes('"phase":"done"') === true
      })
      await prompt(1, 'one')
      await tell(1, '/follow', /^This chat shows the questions/)
      await tell(1, '/follow asks', /^This chat shows the questions/)
      const woken = await askElsewhere(stage)
      await passes('the chat is told', () => isSaid(1, /request above waits for an answer/))
      woken.end()
      await passes('it is over', () => isSaid(1, /Rejected|Answered elsewhere/))
    },
  },

  'a request that waits while its chat can not be told': {
    life: {
      beforePost: ({ text }) => {
        if (untold === undefined || !/waits for an answer/.test(text)) return
        untold += 1
        throw new PortError('unreachable', 'no network')
      },
    },
    play: async (stage) => {
      const { prompt, passes, isSaid } = stage
      untold = 0
      await prompt(1, 'one')
      const woken = await askElsewhere(stage)
      await passes('it is tried again', () => (untold ?? 0) > 1)
      untold = undefined
      await passes('the chat is told', () => isSaid(1, /request above waits for an answer/))
      woken.end()
      await passes('it is over', () => isSaid(1, /Rejected|Answered elsewhere/))
    },
  },

  'a request that its chat refuses': {
    play: async (stage) => {
      await stage.prompt(1, 'one')
      stage.telegram.block(1)
      const woken = await beginElsewhere(stage)
      // A process that ends before it has left finds the request as one that was refused already.
      const isLeft = (): boolean => inState(stage, 'session-chat/') === 0
      await stage.passes('the chat leaves the session', () => isLeft() || (stage.isEnded && stage.isOver()))
      stage.telegram.block(1, false)
      woken.end()
    },
  },

  'a group that moves': {
    play: async ({ prompt, telegram, clock }) => {
      await prompt(-5, 'one')
      telegram.upgrade(-5, -1005)
      telegram.push('message', {
        ...{ message_id: 900, date: Math.floor(clock.now() / 1000), from: { id: 1, is_bot: false, first_name: 'Ann' } },
        ...{ chat: { id: -5, type: 'group', title: 'Shop' }, migrate_to_chat_id: -1005 },
      })
      await prompt(-1005, 'two')
    },
  },

  'commands that change the route': {
    play: async ({ prompt, tell, press, isSaid, memory, telegram }) => {
      await prompt(1, 'one')
      const [first = ''] = [...memory.values.keys()].flatMap(
        (key) => /^session\/telegram\/1\/\/(.*)/.exec(key)?.[1] ?? [],
      )
      await tell(1, '/new Second', /^The next message starts the session/)
      await prompt(1, 'two')
      await tell(1, '/model test/big', /^The next prompts go to test/)
      await tell(1, '/model default', /^The next prompts go to the default/)
      await tell(1, '/agent build', /^The next prompts go to build/)
      await tell(1, '/verbose on', /^Tool calls are shown with|may or may not have run/)
      await tell(1, `/switch ${first}`, new RegExp(`^This chat now continues “The ${first}”`))
      await tell(1, '/sessions', /^Sessions/)
      const isSecond = (): boolean => isSaid(1, /^This chat now continues “Second”/)
      await press(1, '2', isSecond, () => void telegram.say(1, '/sessions'))
      await tell(1, '/fork', /continues the copy|may or may not have run/)
    },
  },

  'a list that its chat does not take after a restart': {
    seed: ({ queues }) => {
      const old = { ...promptIn('telegram', 'old'), isOld: true, left: 'decided' }
      queues.set(inChat(1, 'backlog/telegram/1/'), new Map([['9', JSON.stringify(old)]]))
    },
    play: async ({ telegram, press, isSaid }) => {
      telegram.inject({ type: 'status', code: 502, chatId: 1, method: post, times: 1 })
      await press(1, 'Leave them', () => isSaid(1, /^Left alone/))
    },
  },

  'an edit that another process overtook': {
    play: async (stage) => {
      const job = await stage.begin(1, 'hold one')
      await stage.passes('it is shown', () => stage.isSaid(1, /Working/))
      const ledger = [...stage.memory.values.keys()].find((key) => key.startsWith('ledger/telegram/1/')) ?? ''
      const message = stage.telegram.screen(1).find(({ text }) => /Working/.test(text))
      stage.memory.values.set(ledger.replace('ledger', 'late'), {
        value: String(message?.messageId),
        expiresAt: undefined,
      })
      await stage.passes(
        'it is edited again',
        () => ![...stage.memory.values.keys()].some((key) => key.startsWith('late/')),
      )
      job.end()
      await stage.passes('it is answered', () => stage.isSaid(1, /You said: hold one/))
    },
  },

  'an edit that is made after another process took over': {
    play: async (stage) => {
      const job = await stage.begin(1, 'hold one')
      await stage.passes('it is shown', () => stage.isSaid(1, /Working/))
      stage.telegram.inject({ type: 'delay', delayMs: 6000, method: /^editMessage/ })
      stage.held.get('hold one')?.write({ type: 'text', delta: 'More. ' })
      await stage.passes('it is being edited', () =>
        stage.telegram.calls.some(({ method }) => method.startsWith('editMessage')),
      )
      void stage.takeOver()
      await stage.passes('it is told to the next process', () =>
        [...stage.commits.keys()].some((kind) => kind.includes('late')),
      )
      job.end()
      await stage.passes('it is answered', () => stage.isSaid(1, /You said: hold one/))
    },
  },

  'a message whose handling fails': {
    life: { hasDefect: (queue) => queue === 'prompts/telegram/2/' },
    play: async ({ insist, telegram, isSaid }) => {
      const send = (): void => void telegram.say(2, 'look', { file: { bytes: new Uint8Array(3) }, albumId: '7' })
      await insist(2, 'it is told', send, () => isSaid(2, /^That failed: The bridge has a defect/))
    },
  },

  'an answer whose chat an earlier process could not tell': {
    seed: ({ values }) => {
      const missing = {
        type: 'delivery',
        channel: 'telegram',
        server: 'home',
        text: 'Long ago.',
        missing: 1,
        reason: 'It broke.',
        at: 1,
      }
      values.set(inChat(1, 'failed/delivery/telegram/1//first1'), row({ ...missing, id: 'first1', chat: { id: '1' } }))
      values.set(
        inChat(2, 'failed/delivery/telegram/2//second'),
        row({ ...missing, id: 'second', chat: { id: '2' }, tries: 6 }),
      )
      const told = encodeURIComponent('failed/delivery/telegram/2//')
      values.set(inChat(2, `suspect/${told}`), row({ level: 0, points: 5 }))
    },
    play: async ({ passes, tell, isSaid, memory }) => {
      await passes('the chat is told', () => isSaid(1, /may be missing here/))
      await tell(1, '/resend', /Long ago/)
      await passes('the other is given up', () =>
        Boolean(memory.values.get(inChat(2, 'failed/delivery/telegram/2//second'))?.value.includes('"isUntold":true')),
      )
      await tell(2, '/resend', /Long ago/)
    },
  },

  'a run that ends while its author is away': {
    life: { people: withPhone },
    play: async (stage) => {
      const { begin, passes, clock, phone } = stage
      const job = await begin(1, 'hold one')
      // What they did may be stored late, and then counts from there.
      const until = clock.now() + awayMs + 3000
      await passes('the person is away', () => clock.now() > until && stage.isUsable())
      phone.faults.push('lost')
      job.end()
      await passes('the phone rings', () => rings(stage, 'final') > 0)
      await passes('it is known whether it rang', () => inState(stage, 'notice/') === 0)
      await passes('the chat has the answer', () => stage.isSaid(1, /You said: hold one/))
    },
  },

  'asks that wait while people are away': {
    life: { people: withPhone },
    play: async (stage) => {
      const { begin, passes, phone } = stage
      await begin(1, 'ask colour')
      await passes('the phone rings', () => rings(stage, 'ask') > 0)
      await answerColour(stage, 1, 1)
      phone.isOff = true
      await begin(2, 'ask again')
      // The answer of the first one may have waited until its author was away, and that notice waits, too.
      const isWaiting = (): boolean =>
        [...stage.memory.values].some(
          ([key, { value }]) => key.startsWith('notice/') && value.includes('que_ask again'),
        )
      await passes('a notice waits', isWaiting)
      await answerColour(stage, 2, 2)
      // If a process ends before it withdraws the notice, the next one sends it: that ring is one too many, and none is lost.
      await passes('it is withdrawn', () => stage.isEnded || !isWaiting())
      phone.isOff = false
      for (const [chat, text] of [
        [1, 'ask colour'],
        [2, 'ask again'],
      ] as const)
        await passes('it ends', () => stage.isSaid(chat, new RegExp(says(text))))
      const asks = new Set(phone.rang.flatMap(({ kind, id }) => (kind === 'ask' ? [id] : [])))
      if (asks.size > 1 && !stage.isEnded) throw new Error('The phone rang for an ask that had been answered.')
    },
  },

  'voice notes': {
    life: { transcribe: { command: ['/bin/cat', '{file}'], convert: false } },
    play: async (stage) => {
      const { insist, passes, telegram, memory, heard, said } = stage
      await insist(
        1,
        'it is heard',
        () => speak(stage, 1, 'spoken'),
        () => heard.includes('spoken'),
      )
      await passes('it is answered', () => said(1).includes(says('spoken')))
      // It is being transcribed until it is stopped. Each process that has the chat asks for it again.
      telegram.inject({ type: 'stall', method: 'getFile', times: 9 })
      const isQueued = (): boolean => memory.queues.has(inChat(2, 'prompts/telegram/2/'))
      await insist(2, 'it is queued', () => speak(stage, 2, 'another'), isQueued)
      await insist(
        2,
        'it is stopped',
        () => telegram.say(2, '/stop'),
        () => !isQueued() && stage.isSaid(2, /^Stopped|Nothing is running|may or may not have run/),
      )
      if (heard.includes('another')) throw new Error('It ran.')
    },
  },
}
