import { win32 } from 'node:path'
import { secretSource } from '@reply/sink/channel'
import * as z from 'zod'

/**
 * The rights of a person. `prompt`: prompts, and commands on their own runs. `approve`: answers to permission requests.
 * `admin`: actions on the runs and queue entries of others.
 */
export type Right = 'prompt' | 'approve' | 'admin'

/** How much of the runs that were started elsewhere, for example in a terminal, a chat shows. */
export const followModes = ['asks', 'all', 'none'] as const

/** How much of a run that was started elsewhere a chat shows: its questions and permission requests, all of it, or nothing. */
export type FollowMode = (typeof followModes)[number]

/** The agent that other programs can use at an address. */
const listeningAgent = 'codex'

/** Any agent that speaks AG-UI, at an address. */
export const agUiAgent = 'ag-ui'

/** Whether a URL is that of a WebSocket. */
function isWebSocket(url: string): boolean {
  return /^wss?:/i.test(url)
}

/** Whether a URL has a user name or a password. False for a text that is not a URL. */
function hasCredentials(url: string): boolean {
  const { username, password } = URL.canParse(url) ? new URL(url) : { username: '', password: '' }
  return username !== '' || password !== ''
}

/** A server's entry: an address, an agent to start, or the address of a Codex or an AG-UI agent that runs already. */
export const serverSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^(https?|wss?)$/, error: 'Write an address such as "http://127.0.0.1:4096".' })
      .refine(
        (url) => !hasCredentials(url),
        'Write the address without credentials. Use the fields `username` and `password`, or `token` for an agent.',
      )
      .optional()
      .describe(
        'The address of an OpenCode server. With `"agent": "codex"`, that of a running `codex app-server --listen`, for example `ws://127.0.0.1:4500`. With `"agent": "ag-ui"`, that of an agent that speaks AG-UI, for example one of Mastra or LangGraph.',
      ),
    agent: z
      .string()
      .min(1)
      .optional()
      .describe(
        'An agent to start instead of a server: `claude`, `codex` or another name that `@reply/agents` knows, or the command line of an agent that speaks the Agent Client Protocol, for example `opencode acp`. `ag-ui` is not started: it is any agent that speaks AG-UI at the `url`.',
      ),
    directory: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Folder of the project on the server. Default: the server's own. Required for an agent other than `ag-ui`, and relative to the config for one that is started. Keep the config, the state and the files of secrets out of it, and out of the git repository around it.",
      ),
    follow: z
      .enum(followModes)
      .optional()
      .describe(
        'What chats show of runs that were started elsewhere on this server, for example in the OpenCode TUI. `asks`: their questions and permission requests. `all`: also what was asked and the answer, silently. `none`: nothing. `/follow` changes it for a chat. Default: `asks`.',
      ),
    homeChat: z
      .string()
      .regex(/^[^:]+:[^/]+(\/.+)?$/, 'Write it as <channel>:<chat> or <channel>:<chat>/<thread>.')
      .optional()
      .describe(
        'The chat for runs that were started elsewhere in sessions that no chat works with, as `<channel>:<chat>` or `<channel>:<chat>/<thread>`. The chat then uses this server. Requires `directory`. Default: their requests reach the private chat that prompted the session last, if its person has `approve`, and otherwise none.',
      ),
    localFiles: z
      .boolean()
      .optional()
      .describe(
        "Whether the server's folders are on this computer. If so, chats get the files that the agent sends, but only those inside of the session's folder. Otherwise they get their paths. Default: `true` for an agent that is started and for a loopback address. Set `false` for a server in a container.",
      ),
    mcpServers: z
      .record(z.string().min(1), z.tuple([z.string().min(1)], z.string()))
      .optional()
      .describe(
        'Programs with tools for an agent that speaks the Agent Client Protocol, by name, each with its arguments, for example `{ "reply": ["reply-tools"] }`. Claude Code, Codex and OpenCode read theirs from their own settings. Default: none.',
      ),
    username: z.string().min(1).optional().describe('User name for the server. Default: "opencode".'),
    password: secretSource.optional(),
    token: secretSource.optional(),
    keepsThreads: z
      .boolean()
      .optional()
      .describe(
        'For `"agent": "ag-ui"`: whether the agent keeps the messages of its threads itself, for example in a database. Sessions then go on after a restart of the bridge. Default `false`: the bridge keeps them in memory, and a restart ends them.',
      ),
    trustPrompt: z
      .boolean()
      .optional()
      .describe(
        '`true`: people without `approve` can prompt an agent that runs commands and edits files without asking. Only set it if you trust all of them with that. Default `false`: the agent has to ask first, and has no shell on OpenCode 1. If it can’t be made to ask, these people are refused.',
      ),
  })
  .refine(({ url, agent }) => url !== undefined || agent !== undefined, 'Set a `url` or an `agent`.')
  .refine(
    ({ url, agent }) => url === undefined || agent === undefined || agent === listeningAgent || agent === agUiAgent,
    'Remove `url` or `agent`: only a Codex that runs already has both, with "agent": "codex", and an AG-UI agent, with "agent": "ag-ui". Other agents are started, and an OpenCode server has a `url` alone.',
  )
  .refine(({ url, agent }) => agent !== agUiAgent || (url !== undefined && !isWebSocket(url)), {
    path: ['url'],
    error: 'Write the address where the AG-UI agent takes runs, such as "http://127.0.0.1:8000/agent".',
  })
  .refine(
    ({ agent, follow, homeChat }) => agent !== agUiAgent || (follow === undefined && homeChat === undefined),
    'Remove `follow` and `homeChat`: an AG-UI agent does not tell what was started elsewhere.',
  )
  .refine(
    ({ agent, keepsThreads }) => agent === agUiAgent || keepsThreads === undefined,
    'Remove `keepsThreads`: it is for "agent": "ag-ui".',
  )
  .refine(({ url, agent }) => agent !== listeningAgent || url === undefined || isWebSocket(url), {
    path: ['url'],
    error: 'Write the address of `codex app-server --listen`, such as "ws://127.0.0.1:4500".',
  })
  .refine(({ url, agent }) => agent !== undefined || url === undefined || !isWebSocket(url), {
    path: ['url'],
    error: 'Write the address of an OpenCode server, such as "http://127.0.0.1:4096", or add "agent": "codex".',
  })
  .refine(
    ({ url, mcpServers }) => url === undefined || mcpServers === undefined,
    'Remove `mcpServers`: they are for an `agent` that is started. OpenCode and Codex read theirs from their own settings.',
  )
  .refine(
    ({ homeChat, directory }) => homeChat === undefined || directory !== undefined,
    'Set a `directory` for `homeChat`: it shows only the sessions of that folder.',
  )
  .refine(
    ({ agent, directory }) => agent === undefined || agent === agUiAgent || directory !== undefined,
    'Set a `directory` for the agent.',
  )
  .refine(({ url, agent, follow }) => follow === undefined || agent === undefined || url !== undefined, {
    path: ['follow'],
    error:
      'Remove it: the bridge starts this agent, which has no other clients, so nothing is started elsewhere there.',
  })
  .refine(({ url, agent, directory }) => !url || !agent || !directory || win32.isAbsolute(directory), {
    path: ['directory'],
    error: 'Write the whole path of the folder where the agent runs, such as "/srv/shop".',
  })
  .refine(
    ({ agent, username, password }) => agent === undefined || (username === undefined && password === undefined),
    'Remove `username` and `password`: an agent has none. A Codex or an AG-UI agent at a `url` has a `token`.',
  )
  .refine(
    ({ url, agent, token }) => token === undefined || (url !== undefined && agent !== undefined),
    'Remove `token`: it is for a Codex or an AG-UI agent at a `url`. An OpenCode server has a `password`.',
  )

const person = z.strictObject({
  ids: z
    .array(z.string().regex(/^[\w-]+:\S+$/, 'Write it as <channel>:<id on the platform>, as in "tg:123".'))
    .min(1)
    .describe('Ids of this person on each channel: `<channel>:<id on the platform>`.'),
  may: z
    .array(z.enum(['prompt', 'approve', 'admin']))
    .describe(
      '`prompt`: send prompts, and commands on their own runs. `approve`: answer permission requests. `admin`: act on the runs and queue entries of others. Only grant `prompt` and `approve` to people you trust with what the agent can read and do.',
    ),
  notify: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Channels for notices, for example an `ntfy` channel: this person gets a notice there if a run that they started ends or needs an answer while they are away.',
    ),
})

/** The longest time that a timer takes, in ms: 24.8 days. */
const longestTimerMs = 2 ** 31 - 1

const progress = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe(
      '`false`: shows no tool messages and no heartbeats, and rejects requests at once. Typing is still shown.',
    ),
  toolThrottleMs: z
    .number()
    .int()
    .min(1000)
    .max(longestTimerMs)
    .default(5000)
    .describe('Minimum time between two tool messages, in ms.'),
  heartbeatMs: z
    .number()
    .int()
    .min(10_000)
    .max(longestTimerMs)
    .default(60_000)
    .describe('How long nothing is posted before a heartbeat, in ms.'),
})

const busyPolicy = z.enum(['queue', 'steer', 'interrupt'])

const router = z.strictObject({
  timeoutMs: z
    .number()
    .int()
    .min(1000)
    .max(longestTimerMs)
    .default(300_000)
    .describe('Ends a run that makes no progress for this long, in ms. Waiting for people does not count.'),
  askTimeoutMs: z
    .number()
    .int()
    .min(1000)
    .max(longestTimerMs)
    .optional()
    .describe('Rejects a request that is not answered for this long, in ms. Default: `timeoutMs`.'),
  quietMs: z
    .number()
    .int()
    .min(0)
    .max(longestTimerMs)
    .default(10_000)
    .describe(
      'How long a request of a run that was started elsewhere waits silently before a message notifies, in ms: the person there may answer it.',
    ),
  progress: progress.default({ enabled: true, toolThrottleMs: 5000, heartbeatMs: 60_000 }),
  busy: z
    .union(
      [busyPolicy, z.record(z.string().min(1), busyPolicy)],
      'Write `queue`, `steer` or `interrupt`, or an object with one of these for each chat.',
    )
    .default('queue')
    .describe(
      'What a message does while the agent works. `queue`: waits. `steer`: joins the running turn. `interrupt`: stops it first. One value for all chats, or by chat like `routes`, for example `{ "tg": "steer", "*": "queue" }`.',
    ),
  backlog: z
    .enum(['latest', 'all', 'none'])
    .default('latest')
    .describe('Which messages from while the bridge was down are run. The chat gets a list of the others.'),
  backlogAfterMs: z
    .number()
    .int()
    .min(1000)
    .default(120_000)
    .describe('Age at which a message counts as sent while the bridge was down, in ms.'),
  messagesPerMinute: z
    .number()
    .int()
    .min(1)
    .default(20)
    .describe('Most messages that one person can send in a minute.'),
  maxTextLength: z.number().int().min(1).default(50_000).describe('Longest message that is accepted, in UTF-16 units.'),
  maxFileBytes: z
    .number()
    .int()
    .min(1)
    .default(20_000_000)
    .describe('Largest file that is sent to the agent, in bytes.'),
  fileHosts: z
    .array(z.string().regex(/^[a-z\d.-]+(:\d+)?$/i, 'Write hosts such as "files.example.org" or "example.org:8443".'))
    .default([])
    .describe(
      'Hosts from which files of answers may be downloaded. An agent chooses the addresses, so only name hosts that may get a request from this computer. Default: none, so chats get the addresses.',
    ),
  receipts: z.boolean().default(false).describe("Posts a message with the run's id when a run starts."),
})

/** A program and its arguments. */
const commandLine = z.tuple(
  [z.string().min(1)],
  z.string(),
  'Write the program and its arguments as a list, for example ["whisper-cli", "-f", "{file}"].',
)

/** How voice notes become text: by a local program, or by a service. */
const transcribe = z
  .strictObject({
    command: commandLine
      .optional()
      .describe(
        'A recogniser on this computer, and its arguments, for example `["whisper-cli", "-m", "/models/ggml-base.bin", "-np", "-nt", "-f", "{file}"]`. It prints the text. `{file}` is replaced with the path of the audio. Without `{file}`, the path is the last argument. Not interpreted by a shell.',
      ),
    url: z
      .url({ protocol: /^https?$/, error: 'Write an address such as "https://api.openai.com/v1".' })
      .refine((url) => !hasCredentials(url), 'Write the address without credentials. Use the field `key` for the key.')
      .optional()
      .describe('The address of a service with OpenAI’s `/audio/transcriptions`, with or without that path.'),
    key: secretSource.optional(),
    model: z.string().min(1).optional().describe('The model of the service, for example `whisper-1`.'),
    convert: z
      .union([commandLine, z.literal(false)], 'Write a command such as ["ffmpeg", "-i", "{file}", "{wav}"], or false.')
      .refine(
        (command) =>
          command === false || ['{file}', '{wav}'].every((name) => command.some((one) => one.includes(name))),
        'Write `{file}` where the path of the audio belongs, and `{wav}` where that of the result belongs.',
      )
      .optional()
      .describe(
        'Converts the audio first, because voice notes are Ogg/Opus, which few recognisers read: `{file}` is its path, `{wav}` that of the result, `{seconds}` the most seconds that are needed. `false`: converts nothing. Default: FFmpeg, to WAV with 16 kHz and one channel. With `url`: `false`.',
      ),
    maxSeconds: z.number().int().min(1).max(14_400).default(600).describe('Longest voice note, in seconds.'),
    timeoutMs: z
      .number()
      .int()
      .min(1000)
      .max(43_200_000)
      .default(120_000)
      .describe('How long converting and transcribing a voice note may take together, in ms.'),
  })
  .refine(({ command, url }) => (command === undefined) !== (url === undefined), 'Set either `command` or `url`.')
  .refine(({ url, model }) => url === undefined || model !== undefined, 'Set the `model` of the service.')
  .refine(
    ({ command, key, model }) => command === undefined || (key === undefined && model === undefined),
    'Remove `key` and `model`: they are for `url`.',
  )

/** Pages of runs in the browser. */
const web = z.strictObject({
  publicUrl: z
    .url({
      protocol: /^https?$/,
      error: 'Write the address where people reach the pages, such as "https://agents.example.org".',
    })
    .refine((url) => !hasCredentials(url) && !/[?#]/.test(url), 'Write the address without credentials, "?" and "#".')
    .refine(
      (url) => !URL.canParse(url) || url.startsWith('https:') || isLoopback(new URL(url).hostname),
      'Use https, or a loopback address: anyone on the way could read the link and answer there.',
    )
    .describe('The address where people reach the pages. Chats link each run to its page there.'),
  secret: z
    .union([secretSource, z.tuple([secretSource], secretSource)], 'Write { "env": "NAME" }, or a list of those.')
    .describe(
      'Signs the links: at least 32 bytes, the same in all processes, for example from `openssl rand -base64 32`. To change it, write a list with the new one first, and remove the old one once its links have ended.',
    ),
  listen: z
    .string()
    .regex(/^(\[[\da-f:]+\]|[^:\s]+):\d{1,5}$/i, 'Write it as <host>:<port>, for example "127.0.0.1:4098".')
    .optional()
    .describe(
      'The address on which `reply bridge` serves the pages, as `<host>:<port>`. Put TLS in front. Default: that of `--listen`.',
    ),
  linkHours: z
    .number()
    .min(1)
    .max(720)
    .default(24)
    .describe('How long a link works after its run has begun, in hours.'),
})

/** A channel's entry: its `type` names the package that knows the other fields. */
export const channelSchema = z.looseObject({
  type: z.string().regex(/^[a-z][a-z0-9-]*$/, 'Write the name of a channel package, for example "telegram".'),
})

/** The `state` as an object: its `type` names the package that knows the other fields. */
export const stateSchema = z.looseObject({
  type: z.string().regex(/^[a-z][a-z0-9-]*$/, 'Write "sqlite", or the name of a package, for example "postgres".'),
})

/** The `state` in a file, which needs no other package. */
export const sqliteStateSchema = z.strictObject({
  type: z.literal('sqlite').describe('A SQLite file on this computer.'),
  folder: z.string().min(1).describe('Folder of the state, relative to the config. It must be on a local disk.'),
})

/** The config as people write it. Channels and the state have further fields, which their own packages check. */
export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  servers: z
    .record(z.string().min(1), serverSchema)
    .refine((all) => Object.keys(all).length > 0, 'Add at least one server.'),
  channels: z
    .record(z.string().regex(/^[\w-]+$/, 'Use letters, digits, "-" and "_".'), channelSchema)
    .refine((all) => Object.keys(all).length > 0, 'Add at least one channel.'),
  people: z
    .record(z.string().min(1), person)
    .default({})
    .describe('Who may use the bridge. Empty: it refuses everyone.'),
  routes: z
    .record(z.string().min(1), z.string().min(1))
    .default({})
    .describe(
      'Which server a chat uses, by `<channel>:<chat>/<thread>`, `<channel>:<chat>`, `<channel>` or `*`. The most specific one wins. The `homeChat` of a server uses that server. Optional with one server.',
    ),
  mirrors: z
    .array(
      z
        .array(z.string().regex(/^[^:]+:[^/]+(\/.+)?$/, 'Write it as <channel>:<chat> or <channel>:<chat>/<thread>.'))
        .min(2),
    )
    .default([])
    .describe(
      'Lists of chats that share a session, as `<channel>:<chat>` or `<channel>:<chat>/<thread>`. A chat includes its threads. Every chat of a list shows the runs of the others, and people can answer and stop them there.',
    ),
  transcribe: transcribe
    .optional()
    .describe(
      'How voice notes and other audio become text. Default: people who send some are told that it is not set up.',
    ),
  web: web
    .optional()
    .describe(
      'Pages of runs in the browser, which chats link to. In a private chat, the person there can also answer and stop on the page. Default: none.',
    ),
  router: router.prefault({}),
  state: z
    .union(
      [z.string().min(1), stateSchema],
      'Write a folder such as "./state", or an object with a `type`, for example { "type": "postgres", "url": { "env": "DATABASE_URL" } }.',
    )
    .default('./state')
    .describe(
      'Where the state is kept: a folder, relative to the config, or an object whose `type` names another place, for example `postgres`.',
    ),
})

/** A checked config, with all defaults. */
export type BridgeConfig = z.infer<typeof configSchema>

/** How to handle a message while the agent works. */
export type Busy = z.infer<typeof busyPolicy>

/** The `state` of a config as an object: its `type`, and the fields of that type. */
export type StateConfig = z.infer<typeof stateSchema>

/** The settings of a state in a SQLite file. */
export type SqliteState = z.infer<typeof sqliteStateSchema>

/** The `router` of a config: how messages become runs. */
export type RouterConfig = BridgeConfig['router']

/** The `transcribe` of a config: how voice notes become text. */
export type TranscribeConfig = NonNullable<BridgeConfig['transcribe']>

/** One person of the config. */
export type PersonConfig = BridgeConfig['people'][string]

/** Whether the host of a URL is a loopback address. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
