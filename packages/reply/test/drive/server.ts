import {
  hold,
  isSecond,
  launchOpencode,
  type Model,
  type Opencode,
  reasoning,
  type Scripts,
  secondPassword,
  startModel,
  text,
  tool,
} from '@reply/testing'
import { type Client, type ConnectOptions, connect, type ReplyError } from '../../src/index.ts'

/** What the tests of the driver play. */
const scripts: Scripts = {
  plain: { steps: [[reasoning('Hm.'), text('Hello there.')]] },
  pause: { steps: [[text('One '), hold('pause'), text('two.')]] },
  // A released gate stays open.
  watched: { steps: [[text('One '), hold('watched'), text('two.')]] },
  gap: { steps: [[text('One '), hold('gap'), text('two.')]] },
  resumed: { steps: [[text('This is cut off, '), hold('resumed'), text('then whole.')]] },
  forever: { steps: [[text('This never ends, '), hold('forever'), text('never.')]] },
  question: {
    steps: [
      [
        tool('question', {
          questions: [
            {
              header: 'Colour',
              question: 'Which colour?',
              options: [
                { label: 'Red', description: '' },
                { label: 'Blue', description: '' },
              ],
            },
          ],
        }),
      ],
      [text('As you like.')],
    ],
  },
  permission: { steps: [[tool('bash', { command: 'touch asked-for.txt', description: 'Touch' })], [text('Done so.')]] },
  always: { steps: [[tool('bash', { command: 'mkdir -p allowed', description: 'Make' })], [text('Made.')]] },
  // OpenCode's pattern for it is only `ls`, but it creates a file.
  hidden: {
    steps: [
      [tool('bash', { command: "[[ -v 'a[$(touch hidden.txt)]' ]]; ls", description: 'List' })],
      [text('Listed.')],
    ],
  },
  child: {
    steps: [
      [tool('task', { description: 'Touch a file', prompt: '[scenario:permission]', subagent_type: 'general' })],
      [text('The child is done.')],
    ],
  },
  structured: { steps: [[tool('StructuredOutput', { count: 3 })], [text('Counted.')]] },
  writes: { steps: [[tool('write', { filePath: 'written.txt', content: 'x' })], [text('Written.')]] },
  tool: { steps: [[tool('bash', { command: 'sleep 30', description: 'Sleep' })], [text('Slept.')]] },
}

export interface Stage {
  readonly server: Opencode
  readonly model: Model
  readonly opencode: Client
  readonly errors: readonly ReplyError[]
  /** Reads a route as another client would. */
  ask<T>(route: string): Promise<T>
  /** A second client, such as another person's. */
  open(options?: Partial<ConnectOptions>): Client
  close(): Promise<void>
}

/** A real server with the scripted model, and a driver connected to it. */
export async function openStage(
  options: {
    readonly version?: string
    readonly env?: Record<string, string>
    readonly service?: boolean
    readonly connect?: Partial<ConnectOptions>
  } = {},
): Promise<Stage> {
  const second = isSecond(options.version ?? '')
  const model = await startModel({ scripts, fallback: 'plain', generation: second ? 2 : 1 })
  const server = await launchOpencode({
    model,
    // Git snapshots take most of a turn's time; no event depends on them.
    config: {
      ...(!second && { extra: { snapshot: false } }),
      command: { greet: { template: 'Greet $ARGUMENTS. [scenario:plain]', description: 'Greets' } },
      permission: { bash: { '*': 'allow', 'touch *': 'ask', 'mkdir *': 'ask', ls: 'ask' } },
    },
    ...(options.version !== undefined && { version: options.version }),
    ...(options.env && { env: options.env }),
    ...(options.service && { service: true }),
  })
  const errors: ReplyError[] = []
  const opened: Client[] = []
  const open = (more: Partial<ConnectOptions> = {}): Client => {
    const opencode = connect({
      url: server.url,
      ...(second && { password: secondPassword }),
      directory: server.directory,
      onError: (error) => errors.push(error),
      ...options.connect,
      ...more,
    })
    opened.push(opencode)
    return opencode
  }
  return {
    server,
    model,
    opencode: open(),
    ask: async (route) => {
      const authorization = `Basic ${Buffer.from(`opencode:${secondPassword}`).toString('base64')}`
      return JSON.parse(await (await fetch(`${server.url}${route}`, { headers: { authorization } })).text())
    },
    errors,
    open,
    close: async () => {
      for (const opencode of opened) await opencode.close()
      await server.stop()
      await model.close()
    },
  }
}
