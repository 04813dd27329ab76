import { type SlackMessage, startSlack } from '@reply/testing/slack'
import { readMarkdown } from '../markdown.ts'
import { type Person, people } from '../people.ts'
import { type DialogView, type MessageView, plain, type TaskView } from '../view.ts'
import { type Chat, type ChatOptions, createMemory } from './chat.ts'
import { untilTrue } from './until-true.ts'

const channel = 'C0SHOP'
const statuses = { pending: 'pending', in_progress: 'running', complete: 'done', error: 'failed' } as const

/**
 * Starts a fake Slack with a channel that the app and both people are in. Each message outside threads mentions the app, and
 * begins a thread.
 */
export async function slackChat({ now }: ChatOptions): Promise<Chat> {
  const slack = await startSlack({ channels: [{ id: channel }] })
  const memory = createMemory(now)
  /** The messages that begin with a mention of the app: the fake's screen leaves it out. */
  const mentions = new Set<string>()
  /** The newest message at the time when a whisper was first seen, by the whisper's index. */
  const whisperedAfter = new Map<number, string>()
  const roots = (): readonly SlackMessage[] =>
    slack.screen(channel).filter(({ threadTs, ts }) => threadTs === undefined || threadTs === ts)
  const say: Chat['say'] = (person, text, thread) => {
    // In a thread where the app works, only commands need to name it: Slack keeps `/stop` and its like for itself.
    const mention = thread === undefined || text.startsWith('/')
    const ts = slack.say(channel, text, { from: fromOf(person), mention, ...(thread && { threadTs: thread }) })
    memory.wrote(ts, person)
    if (mention) mentions.add(ts)
  }
  return {
    name: 'slack',
    channel: { type: 'slack', token: { env: 'SLACK' }, appToken: { env: 'APP' }, apiUrl: slack.url },
    secrets: { SLACK: slack.token, APP: slack.appToken },
    load: async () => (await import('@reply/slack/bridge')).bridgeChannel,
    accountOf: (person) => fromOf(person).id,
    members: people,
    look: () => ({
      platform: 'slack',
      title: '#shop',
      messages: roots().flatMap(({ ts }) => threadOf(ts)),
      status:
        roots()
          .map(({ ts }) => slack.status(channel, ts))
          .find((status) => status !== '') ?? '',
      threads: roots().map(({ ts, text }) => ({ id: ts, title: text.split('\n')[0] ?? '' })),
      dialogs: people.flatMap(dialogOf),
    }),
    say,
    press: async (person, ts, label) => {
      const rows = slack.screen(channel).find((message) => message.ts === ts)?.controls ?? []
      const isButton = rows.flat().some((control) => control.type === 'button' && control.label === label)
      await slack[isButton ? 'press' : 'choose'](channel, ts, label, { from: fromOf(person) })
      return undefined
    },
    submit: async (person, answers) => void (await slack.submit(answers, { from: fromOf(person) })),
    stop: async (person, thread) => {
      const running = thread ?? roots().findLast(({ ts }) => slack.session(channel, ts) === 'processing')?.ts
      if (running === undefined) return
      if (slack.session(channel, running) !== 'processing') return say(person, '/stop', running)
      await slack.stop(channel, running, { from: fromOf(person) })
    },
    observe: (listener) => slack.observe(listener),
    // The fake keeps no events for an app that isn't connected.
    connected: () => untilTrue(() => slack.sockets > 0),
    close: slack.close,
  }

  /**
   * Returns a thread's first message, its answers, and what was whispered between them. A whisper stays after the message that
   * was the newest when it was first seen.
   */
  function threadOf(root: string): readonly MessageView[] {
    const posts = slack.screen(channel, root)
    const whispers = slack.whispers.flatMap((whisper, index) => {
      if (whisper.channel !== channel || whisper.threadTs !== root) return []
      const after = whisperedAfter.get(index) ?? posts.at(-1)?.ts ?? root
      whisperedAfter.set(index, after)
      return [{ after, view: whispered(whisper, index, root) }]
    })
    return posts.flatMap((post) => [
      viewOf(post, root),
      ...whispers.flatMap(({ after, view }) => (after === post.ts ? [view] : [])),
    ])
  }

  /** Returns a message as the page shows it. `root` is the id of its thread's first message. */
  function viewOf(message: SlackMessage, root: string): MessageView {
    const { ts, from, text, mode, controls, file, tasks, editedTimes, isStreaming, plan } = message
    const isBot = from === 'bot'
    return {
      id: ts,
      author: isBot ? 'reply' : memory.authorOf(ts),
      isBot,
      at: memory.atOf(ts),
      body:
        mode === 'markdown' ? readMarkdown(named(text)) : plain(named(text), mentions.has(ts) ? '@reply' : undefined),
      tasks: tasksOf(tasks, plan),
      rows: controls.map((row) =>
        row.map(({ label, options }) => ({ label, style: 'plain', options: options.map((one) => one.label) })),
      ),
      file: file && { name: file.name, bytes: file.bytes.length },
      reactions: message.reactions.map((name) => emoji[name] ?? `:${name}:`),
      notes: editedTimes > 0 ? ['edited'] : [],
      isLive: isStreaming,
      ...(ts !== root && { thread: root }),
    }
  }

  /** Returns a message that only one person can read, as the page shows it. `index` tells whispers apart. */
  function whispered(
    { user, text }: { readonly user: string; readonly text: string },
    index: number,
    thread: string,
  ): MessageView {
    const id = `whisper-${index}`
    const reader = people.find((person) => fromOf(person).id === user)?.name ?? user
    return {
      ...{ id, author: 'reply', isBot: true, at: memory.atOf(id), body: readMarkdown(named(text)), thread },
      ...{ tasks: [], rows: [], reactions: [], notes: [`visible to ${reader} only`], isLive: false },
    }
  }

  /** Returns the dialog that a person has open. Empty if there is none. */
  function dialogOf(person: Person): readonly DialogView[] {
    const view = slack.view(fromOf(person).id)
    if (!view) return []
    const fields = view.fields.map(({ label, type, options, isOptional }) => ({
      ...{ label, type, isOptional },
      options: options.map((option) => option.label),
    }))
    return [{ person: person.id, title: view.title, fields }]
  }
}

/** Returns the tasks of a stream, after a pending one with the title of its plan if it has one. */
function tasksOf(tasks: SlackMessage['tasks'], plan: string): readonly TaskView[] {
  const shown = tasks.map(({ title, status, details, output }) => ({
    title,
    status: statuses[status],
    details: [details, output].filter((text) => text !== '').join('\n'),
  }))
  return plan === '' ? shown : [{ title: plan, status: 'pending', details: '' }, ...shown]
}

/** Slack's names of the emoji that the channel uses. https://docs.slack.dev/reference/methods/reactions.add */
const emoji: Readonly<Record<string, string>> = { eyes: '👀', white_check_mark: '✅', x: '❌', hourglass: '⌛' }

/** Returns the account of a person. */
function fromOf({ name, number }: Person) {
  return { id: `U${number}`, name }
}

/** Returns a text with people's names in place of mentions' ids. Unknown ids stay. */
function named(text: string): string {
  return text.replaceAll(/<@U(\d)>/g, (whole, number) => {
    const person = people.find((one) => String(one.number) === number)
    return person ? `@${person.name}` : whole
  })
}
