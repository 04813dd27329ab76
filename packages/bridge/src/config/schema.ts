import { secretSource } from '@reply/sink/channel'
import * as z from 'zod'

/** What a person may do: prompt and command their own runs, allow permissions, act on others' runs and queues. */
export type Right = 'prompt' | 'approve' | 'admin'

function hasCredentials(url: string): boolean {
  const { username, password } = URL.canParse(url) ? new URL(url) : { username: '', password: '' }
  return username !== '' || password !== ''
}

/** A server's entry: an address, or an agent to start. */
export const serverSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/, error: 'Write an address such as "http://127.0.0.1:4096".' })
      .refine((url) => !hasCredentials(url), 'Write the address alone, and name its `username` and `password`.')
      .optional()
      .describe('The address of an OpenCode server.'),
    agent: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Instead of a server, an agent that the bridge starts: `claude`, `codex` or another name that `@reply/agents` knows, or the command line of an agent that speaks the Agent Client Protocol, such as `opencode acp`.',
      ),
    directory: z
      .string()
      .min(1)
      .optional()
      .describe(
        "The project on the server; default: the server's own. An agent needs one, relative to the config: a folder of its own. Neither the config nor the state nor the files of secrets may be in it, nor in the git repository around it.",
      ),
    username: z.string().min(1).optional().describe('Of a server. Default: "opencode".'),
    password: secretSource.optional(),
    trustPrompt: z
      .boolean()
      .optional()
      .describe(
        '`true`: what people without `approve` prompt may run commands and edit files unasked, as far as the agent does so by itself. `false`, the default: it asks before it acts, without a shell on OpenCode 1, or those people are refused.',
      ),
  })
  .refine(({ url, agent }) => (url === undefined) !== (agent === undefined), 'Give it either a `url` or an `agent`.')
  .refine(({ agent, directory }) => agent === undefined || directory !== undefined, 'An agent needs a `directory`.')
  .refine(
    ({ agent, username, password }) => agent === undefined || (username === undefined && password === undefined),
    'An agent has no `username` and no `password`.',
  )

const person = z.strictObject({
  ids: z
    .array(z.string().regex(/^[\w-]+:\S+$/, 'Write it as <channel>:<id on the platform>, as in "tg:123".'))
    .min(1)
    .describe('Who this is on each channel: `<channel>:<id on the platform>`.'),
  may: z
    .array(z.enum(['prompt', 'approve', 'admin']))
    .describe(
      '`prompt`: prompts, and commands on own runs. `approve`: also permissions. `admin`: also the runs and queue entries of others.',
    ),
})

/** The longest time that a timer takes, in ms: 24.8 days. */
const longestMs = 2 ** 31 - 1

const progress = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe('`false`: no tool messages, no heartbeat, and asks are rejected at once. Typing stays.'),
  toolThrottleMs: z
    .number()
    .int()
    .min(1000)
    .max(longestMs)
    .default(5000)
    .describe('Minimum time between two tool messages, in ms.'),
  heartbeatMs: z
    .number()
    .int()
    .min(10_000)
    .max(longestMs)
    .default(60_000)
    .describe('Silence after which a heartbeat comes, in ms.'),
})

const busy = z.enum(['queue', 'steer', 'interrupt'])

const router = z.strictObject({
  timeoutMs: z
    .number()
    .int()
    .min(1000)
    .max(longestMs)
    .default(300_000)
    .describe(
      'A run without progress ends after this long, in ms. The time that people take to answer does not count.',
    ),
  askTimeoutMs: z
    .number()
    .int()
    .min(1000)
    .max(longestMs)
    .optional()
    .describe('An ask without an answer is rejected after this long, in ms. Default: `timeoutMs`.'),
  progress: progress.default({ enabled: true, toolThrottleMs: 5000, heartbeatMs: 60_000 }),
  busy: z
    .union([busy, z.record(z.string().min(1), busy)], '`queue`, `steer` or `interrupt`, or one of these by chat.')
    .default('queue')
    .describe(
      'What a message does while the agent works: it waits, joins the running turn, or aborts it first. One for all, or by chat like `routes`: `{ "tg": "steer", "*": "queue" }`.',
    ),
  backlog: z
    .enum(['latest', 'all', 'none'])
    .default('latest')
    .describe('Which of the messages that came while the bridge was down are run.'),
  backlogAfterMs: z
    .number()
    .int()
    .min(1000)
    .default(120_000)
    .describe('A message that is heard this long after it was sent is backlog, in ms.'),
  messagesPerMinute: z
    .number()
    .int()
    .min(1)
    .default(20)
    .describe('How many messages of one person are taken in a minute.'),
  maxTextLength: z
    .number()
    .int()
    .min(1)
    .default(50_000)
    .describe('The longest message that is taken, in UTF-16 units.'),
  maxFileBytes: z.number().int().min(1).default(20_000_000).describe('The largest file that is passed on, in bytes.'),
  receipts: z.boolean().default(false).describe("A message with a run's id when it begins."),
})

/** A channel's entry: its `type` names the package that knows the other fields. */
export const channelSchema = z.looseObject({
  type: z.string().regex(/^[a-z][a-z0-9-]*$/, 'The name of a channel package, as in "telegram".'),
})

/** The config as people write it. Channels have further fields, which their own packages check. */
export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  servers: z
    .record(z.string().min(1), serverSchema)
    .refine((all) => Object.keys(all).length > 0, 'Name at least one server.'),
  channels: z
    .record(z.string().regex(/^[\w-]+$/, 'Use letters, digits, "-" and "_".'), channelSchema)
    .refine((all) => Object.keys(all).length > 0, 'Name at least one channel.'),
  people: z
    .record(z.string().min(1), person)
    .default({})
    .describe('Who may use the bridge. With an empty list, it refuses everyone.'),
  routes: z
    .record(z.string().min(1), z.string().min(1))
    .default({})
    .describe(
      'Which server a chat works with, by `<channel>:<chat>/<thread>`, `<channel>:<chat>`, `<channel>` or `*`; the most exact one counts. Not needed with one server.',
    ),
  mirrors: z
    .array(
      z
        .array(z.string().regex(/^[^:]+:[^/]+(\/.+)?$/, 'Write it as <channel>:<chat> or <channel>:<chat>/<thread>.'))
        .min(2),
    )
    .default([])
    .describe(
      'Chats that share a session: each list names places as `<channel>:<chat>` or `<channel>:<chat>/<thread>`. A chat stands for its threads, too. What runs in one is shown in all, and can be answered and stopped in all.',
    ),
  router: router.prefault({}),
  state: z.string().min(1).default('./state').describe('The folder of the state, relative to the config.'),
})

/** A checked config, with all defaults. */
export type BridgeConfig = z.infer<typeof configSchema>

/** What a message does while the agent works. */
export type Busy = z.infer<typeof busy>

/** How messages become runs. */
export type RouterConfig = BridgeConfig['router']

/** One person of the config. */
export type PersonConfig = BridgeConfig['people'][string]

/** Whether only this computer reaches a host, as it is written in a URL. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
