import {
  callTool,
  holdAnswer,
  launchOpencode,
  type OpencodeServer,
  openCode2Password,
  type ScriptedModel,
  type Scripts,
  sayText,
  startModel,
  think,
} from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { type Client, type ConnectOptions, connect, type ReplyError } from '../../src/index.ts'

/** What the tests of the driver play. */
const scripts: Scripts = {
  plain: { steps: [[think('Hm.'), sayText('Hello there.')]] },
  pause: { steps: [[sayText('One '), holdAnswer('pause'), sayText('two.')]] },
  // A released gate stays open.
  watched: { steps: [[sayText('One '), holdAnswer('watched'), sayText('two.')]] },
  gap: { steps: [[sayText('One '), holdAnswer('gap'), sayText('two.')]] },
  resumed: { steps: [[sayText('This is cut off, '), holdAnswer('resumed'), sayText('then whole.')]] },
  forever: { steps: [[sayText('This never ends, '), holdAnswer('forever'), sayText('never.')]] },
  question: {
    steps: [
      [
        callTool('question', {
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
      [sayText('As you like.')],
    ],
  },
  permission: {
    steps: [[callTool('bash', { command: 'touch asked-for.txt', description: 'Touch' })], [sayText('Done so.')]],
  },
  always: { steps: [[callTool('bash', { command: 'mkdir -p allowed', description: 'Make' })], [sayText('Made.')]] },
  // OpenCode's pattern for it is only `ls`, but it creates a file.
  hidden: {
    steps: [
      [callTool('bash', { command: "[[ -v 'a[$(touch hidden.txt)]' ]]; ls", description: 'List' })],
      [sayText('Listed.')],
    ],
  },
  child: {
    steps: [
      [callTool('task', { description: 'Touch a file', prompt: '[scenario:permission]', subagent_type: 'general' })],
      [sayText('The child is done.')],
    ],
  },
  structured: { steps: [[callTool('StructuredOutput', { count: 3 })], [sayText('Counted.')]] },
  writes: { steps: [[callTool('write', { filePath: 'written.txt', content: 'x' })], [sayText('Written.')]] },
  tool: { steps: [[callTool('bash', { command: 'sleep 30', description: 'Sleep' })], [sayText('Slept.')]] },
}

export interface Stage {
  readonly server: OpencodeServer
  readonly model: ScriptedModel
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
  const second = isOpenCode2(options.version ?? '')
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
      ...(second && { password: openCode2Password }),
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
      const authorization = `Basic ${Buffer.from(`opencode:${openCode2Password}`).toString('base64')}`
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
