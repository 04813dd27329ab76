import { type BridgeChannel, sinkFields } from '@reply/sink/channel'
import type { SinkFields } from '@reply/sink/internal'
import * as z from 'zod'
import { BridgeError } from '../error.ts'
import { entryFor, placeNamed } from '../place.ts'
import {
  agUiAgent,
  type BridgeConfig,
  channelSchema,
  configSchema,
  isLoopback,
  serverSchema,
  sqliteStateSchema,
  stateSchema,
} from './schema.ts'

/** Returns a checked config. Throws a `BridgeError` of type `config` that lists each error with its path, value and fix. */
export function parseConfig(value: unknown): BridgeConfig {
  const { data, error } = configSchema.safeParse(value)
  const faults = data ? crossFaults(data) : issueSentences(error, value)
  if (data && faults.length === 0) return { ...data, routes: routesWithHomes(data) }
  throw unusableConfigError(faults)
}

/** Returns a channel's entry, checked with the channel's own schema. Throws like `parseConfig`. */
export function parseChannel<T>(schema: z.ZodType<T>, name: string, entry: unknown): T {
  return parseWithin(`channels.${name}.`, schema, entry)
}

/** Returns the state's settings, checked with the schema of its type. Throws like `parseConfig`. */
export function parseState<T>(schema: z.ZodType<T>, state: unknown): T {
  return parseWithin('state.', schema, state)
}

/** Returns a part of the config, checked with its own schema. `within` precedes the paths of errors. */
function parseWithin<T>(within: string, schema: z.ZodType<T>, value: unknown): T {
  const { data, error, success } = schema.safeParse(value)
  if (success) return data
  throw unusableConfigError(issueSentences(error, value, within))
}

const sinkFieldsSchema = z.object(sinkFields)

/** Returns the settings of a channel's sinks by the channel's name. Empty for an unknown channel. */
export function sinkFieldsIn({ channels }: BridgeConfig): (name: string) => SinkFields {
  const parsed = new Map(
    Object.entries(channels).map(([name, entry]) => [name, sinkFieldsSchema.safeParse(entry).data ?? {}]),
  )
  return (name) => parsed.get(name) ?? {}
}

/** Returns an error that lists the faults, one per line. */
function unusableConfigError(faults: readonly string[]): BridgeError {
  return new BridgeError('config', `The config can't be used:\n${faults.map((fault) => `- ${fault}`).join('\n')}`)
}

/**
 * Returns the JSON Schema with which editors check a config. Entries of the given channels, and a `state` of the given types or
 * `sqlite`, are checked with their own schemas. Those of other types may have any fields.
 */
export function configJsonSchema(
  channels: readonly Pick<BridgeChannel, 'type' | 'schema'>[] = [],
  stores: Readonly<Record<string, Pick<BridgeChannel, 'schema'>>> = {},
): Record<string, unknown> {
  const entries = channels.map(({ type, schema }) => schemaOfType(type, schema))
  const states = Object.entries({ sqlite: { schema: sqliteStateSchema }, ...stores }).map(([type, { schema }]) =>
    schemaOfType(type, schema),
  )
  const { $schema, ...schema } = z.toJSONSchema(configSchema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema === channelSchema && entries.length > 0) jsonSchema.allOf = entries
      if (zodSchema === stateSchema) jsonSchema.allOf = states
      if (zodSchema === serverSchema) jsonSchema.oneOf = serverKinds
    },
  })
  return { $schema, title: 'The config of a reply bridge', ...schema }
}

/** The kinds of a server's entry: an OpenCode server, an agent to start, and a Codex and an AG-UI agent that run already. */
const serverKinds: z.core.JSONSchema.BaseSchema[] = [
  { required: ['url'], properties: { url: { pattern: '^https?:' } }, not: { required: ['agent'] } },
  { required: ['agent', 'directory'], not: { anyOf: [{ required: ['url'] }, { required: ['follow'] }] } },
  {
    required: ['url', 'agent', 'directory'],
    properties: { url: { pattern: '^wss?:' }, agent: { const: 'codex' } },
  },
  {
    required: ['url', 'agent'],
    properties: { url: { pattern: '^https?:' }, agent: { const: agUiAgent } },
    not: { anyOf: [{ required: ['follow'] }, { required: ['homeChat'] }] },
  },
]

/** Returns a JSON Schema that applies a schema to objects of a type only. */
function schemaOfType(type: string, schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  // Without `$schema`, it can be part of another schema.
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' })
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema.
  return { if: { properties: { type: { const: type } } }, then: rest }
}

/** How to fix a secret that was written into the config. */
const secretCure = 'Keep secrets out of the config: write { "env": "NAME" } or { "file": "path" }.'

/** A password in the address of a database: before the host, in the query, or in a list such as `host=db password=…`. */
const passwordInAddress = /^[a-z][a-z\d+.-]*:\/\/[^/?#@]*:.*@|password\s*=/i

/** Returns a fault for an address in place of a folder, and for each field with a password. Never shows the value. */
function stateFaults(state: BridgeConfig['state']): readonly string[] {
  if (typeof state === 'string')
    return /^[a-z][a-z\d+.-]*:\/\/|password\s*=/i.test(state)
      ? ['state: It is an address, not a folder. Write { "type": "postgres", "url": { "env": "DATABASE_URL" } }.']
      : []
  return Object.entries(state).flatMap(([field, value]) =>
    typeof value === 'string' && passwordInAddress.test(value)
      ? [`state.${field}: It contains a password. ${secretCure}`]
      : [],
  )
}

/**
 * Returns the config's `routes` with those of the home chats: such a chat, and those that mirror it, use its server. An entry of
 * `routes` for exactly that chat wins. Without `routes`, a single server has all chats.
 */
function routesWithHomes(config: Pick<BridgeConfig, 'servers' | 'routes' | 'mirrors'>): BridgeConfig['routes'] {
  const { servers, routes } = config
  const isForAll = Object.keys(routes).length === 0 && Object.keys(servers).length === 1
  return isForAll ? routes : { ...homeRoutesIn(config), ...routes }
}

/** Returns the server of each home chat, and of each chat that mirrors one. The first server with a chat has it. */
function homeRoutesIn({ servers, mirrors }: Pick<BridgeConfig, 'servers' | 'mirrors'>): BridgeConfig['routes'] {
  const routes: Record<string, string> = {}
  for (const [server, { homeChat }] of Object.entries(servers)) {
    if (homeChat === undefined) continue
    const mirrored = mirrors.filter((group) => group.includes(homeChat)).flat()
    for (const chat of [homeChat, ...mirrored]) routes[chat] ??= server
  }
  return routes
}

/** Whether two entries name the same address and folder, or the whole server and a folder there. */
function hasSameSessions(one: BridgeConfig['servers'][string], other: BridgeConfig['servers'][string]): boolean {
  if (one.url === undefined || other.url === undefined || new URL(one.url).href !== new URL(other.url).href)
    return false
  const folderOf = ({ directory }: typeof one): string | undefined => directory?.replace(/(?<=.)[/\\]+$/, '')
  const [folder, otherFolder] = [folderOf(one), folderOf(other)]
  return folder === undefined || otherFolder === undefined || folder === otherFolder
}

/** Returns the errors that involve several fields, as sentences. Empty if there are none. */
function crossFaults(config: BridgeConfig): readonly string[] {
  const { servers, channels, people, routes, router, mirrors, state } = config
  const homeRoutes = homeRoutesIn(config)
  const allRoutes = routesWithHomes(config)
  const channelOf = (id: string): string => id.slice(0, id.includes(':') ? id.indexOf(':') : undefined)
  const names = (all: object): string => Object.keys(all).join(', ')
  const allIDs = Object.entries(people).flatMap(([name, { ids }]) => ids.map((id, index) => ({ name, id, index })))
  const [firstServer = ''] = Object.keys(servers)
  const owners = new Map<string, string>()
  const mirrored = new Set<string>()
  return [
    ...Object.entries(servers).flatMap(([name, { url, agent, password, token }]) => {
      if (url === undefined) return []
      const { hostname } = new URL(url)
      if (password || token || isLoopback(hostname)) return []
      const secret = agent === undefined ? 'password' : 'token'
      return [
        `servers.${name}.${secret}: ${hostname} is another computer, so the server needs a ${secret}. Set one here and on the server.`,
      ]
    }),
    ...Object.entries(servers).flatMap(([name, server], index) => {
      const earlier = Object.entries(servers).slice(0, index)
      const [other] = earlier.find(([, one]) => hasSameSessions(one, server)) ?? []
      return other === undefined
        ? []
        : [
            `servers.${name}: It has the sessions of ${other}, too, so two chats could show the same run. Remove one of them, or give each a \`directory\` of its own.`,
          ]
    }),
    ...Object.entries(servers).flatMap(([name, { homeChat }]) => {
      if (homeChat === undefined) return []
      const path = `servers.${name}.homeChat`
      return [...unknownChannelFaults(path, homeChat), ...otherServerFaults(path, homeChat, name)]
    }),
    ...allIDs.flatMap(({ name, id, index }) => {
      const path = `people.${name}.ids.${index}`
      const owner = owners.get(id)
      owners.set(id, name)
      if (!Object.hasOwn(channels, channelOf(id)))
        return [`${path}: "${id}" names an unknown channel. Use one of these: ${names(channels)}.`]
      return owner === undefined ? [] : [`${path}: "${id}" is also an id of ${owner}. Give it to one person.`]
    }),
    ...Object.entries(people).flatMap(([name, { notify = [] }]) =>
      notify.flatMap((channel, index) =>
        Object.hasOwn(channels, channel)
          ? []
          : [
              `people.${name}.notify.${index}: "${channel}" is an unknown channel. Use one of these: ${names(channels)}.`,
            ],
      ),
    ),
    ...(Object.keys(allRoutes).length === 0 && Object.keys(servers).length > 1
      ? [
          `routes: with several servers (${names(servers)}), each chat needs one. Write { "*": "${firstServer}" }, or give each server a chat of its own as \`homeChat\`.`,
        ]
      : []),
    ...Object.entries(routes).flatMap(([where, server]) => {
      const path = `routes.${where}`
      if (!Object.hasOwn(servers, server))
        return [`${path}: "${server}" is not a server of this config. Use one of these: ${names(servers)}.`]
      return unknownChannelFaults(path, where)
    }),
    ...mirrors.flatMap((group, index) => {
      const path = `mirrors.${index}`
      const repeated = group.filter((name) => mirrored.size === mirrored.add(name).size)
      const groupServers = new Set(group.map((name) => entryFor(allRoutes, placeNamed(name))))
      return [
        ...group.flatMap((name) => unknownChannelFaults(path, name)),
        ...repeated.map((name) => `${path}: "${name}" is listed twice. List each chat once.`),
        ...(groupServers.size > 1
          ? [`${path}: its chats use different servers in \`routes\`. Use one server for all of them.`]
          : []),
      ]
    }),
    ...Object.keys(typeof router.busy === 'string' ? {} : router.busy).flatMap((where) => {
      return unknownChannelFaults(`router.busy.${where}`, where)
    }),
    ...stateFaults(state),
  ]

  /** Returns a fault if the home chat of a server uses another one: a message there would reach the wrong project. Empty otherwise. */
  function otherServerFaults(path: string, homeChat: string, server: string): readonly string[] {
    const used = routes[homeChat] ?? homeRoutes[homeChat]
    if (used === undefined || used === server) return []
    return routes[homeChat] === undefined
      ? [
          `${path}: "${homeChat}" belongs to ${used} as its \`homeChat\`, and a chat uses one server. Choose another chat, or a topic of a group for each server.`,
        ]
      : [
          `${path}: "${homeChat}" uses ${used} in \`routes\`, so an answer to a message of ${server} would reach ${used}. Remove that route, or choose another chat.`,
        ]
  }

  /** Returns a fault if a place names a channel that the config doesn't have. Empty otherwise. */
  function unknownChannelFaults(path: string, place: string): readonly string[] {
    const isKnown = place === '*' || Object.hasOwn(channels, channelOf(place))
    return isKnown
      ? []
      : [`${path}: "${channelOf(place)}" is not a channel of this config. Use one of these: ${names(channels)}.`]
  }
}

/**
 * Formats each error of the schema as a sentence with its path, the value found there, and the fix. Omits values that may be
 * secrets, objects, and missing ones. `within` precedes each path.
 */
function issueSentences({ issues }: z.ZodError, value: unknown, within = ''): readonly string[] {
  return issues.map((issue) => {
    const path = `${within}${issue.path.map(String).join('.')}`.replace(/\.$/, '') || 'the config'
    const found = valueAt(value, issue.path)
    const isSafe =
      issue.path.length > 0 && !/password|token|secret|key|env|topic/i.test(path) && typeof found !== 'object'
    const plain = typeof found === 'string' && /url|apiRoot/i.test(path) ? withoutCredentials(found) : found
    const shown = isSafe && found !== undefined ? ` It is ${JSON.stringify(plain)}.` : ''
    const isSecretText = typeof found === 'string' && /password|token|secret/i.test(path)
    const cure = isSecretText ? ` ${secretCure}` : ''
    return `${path}: ${issueMessage(issue, found)}${shown}${cure}`
  })
}

/**
 * Redacts credentials and the query of an address. The address may be invalid, so it is not parsed: everything before the
 * last `@` and after the first `?` or `#` may be secret.
 */
function withoutCredentials(url: string): string {
  const [, scheme = ''] = /^([a-z][a-z\d+.-]*:\/\/)/i.exec(url) ?? []
  const [address = '', ...query] = url.slice(scheme.length).split(/(?=[?#])/)
  const end = address.lastIndexOf('@')
  const host = end === -1 ? address : `***${address.slice(end)}`
  return `${scheme}${host}${query.length > 0 ? '?***' : ''}`
}

/** Returns the value at a path. Undefined if the path leads nowhere. */
function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  )
}

/** How messages of the schema library start. All other messages come from our schemas. */
const libraryMessage = /^(?:Invalid|Unrecognized|Too (?:small|big))/

const kinds: Readonly<Record<string, string>> = {
  object: 'an object: { … }',
  record: 'an object: { … }',
  array: 'a list: [ … ]',
  string: 'a string: "…"',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

/**
 * Returns the message of an error with its fix, as a sentence. `found` is the value at its path. Messages of our schemas stay.
 */
function issueMessage(issue: z.core.$ZodIssue, found: unknown): string {
  return (
    (libraryMessage.test(issue.message) ? libraryIssueMessage(issue, found) : undefined) ??
    issue.message.replace(/[.:]?$/, '.')
  )
}

/** Returns a message for the common kinds of issues. Undefined for others, whose own message is used. */
function libraryIssueMessage(issue: z.core.$ZodIssue, found: unknown): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `${found === undefined ? 'It is missing. ' : ''}Write ${kinds[issue.expected] ?? issue.expected}.`
    case 'invalid_value':
      return `${found === undefined ? 'It is missing. ' : ''}Write ${list(issue.values.map((one) => JSON.stringify(one)))}.`
    case 'unrecognized_keys':
      return `It has no field ${list(issue.keys.map((key) => `"${key}"`))}. Correct the name, or remove it.`
    case 'too_small':
      return sizeMessage(issue.origin, `at least ${issue.minimum}`)
    case 'too_big':
      return sizeMessage(issue.origin, `at most ${issue.maximum}`)
    default:
      return undefined
  }
}

/** Returns the message for a number, text or list that is too small or too large. `size` is the limit, such as `at least 1`. */
function sizeMessage(origin: string, size: string): string {
  if (origin === 'number' || origin === 'int') return `Write ${size}.`
  return origin === 'string' ? `Write ${size} character${/ 1$/.test(size) ? '' : 's'}.` : `Name ${size}.`
}

/** Joins choices with `or`. */
const list = (choices: readonly string[]): string => choices.join(' or ')
