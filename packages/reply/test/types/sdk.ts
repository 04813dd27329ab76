import type { Event, Part as SdkPart } from '@opencode-ai/sdk/v2'
import type { Part } from '@reply/core'
import type * as z from 'zod/mini'
import type { eventSchemas, partSchemas } from '../../src/source/opencode1/decode/schema.ts'
import type { Expect, Same } from './same.ts'

/**
 * How the decoder treats each event of the SDK. An SDK update that adds or drops one doesn't compile until this list
 * changes.
 */
export const events = {
  'session.created': 'decoded',
  'session.updated': 'decoded',
  'session.deleted': 'decoded',
  'session.status': 'decoded',
  'session.idle': 'decoded',
  'session.error': 'decoded',
  'session.compacted': 'decoded',
  'message.updated': 'decoded',
  'message.removed': 'decoded',
  'message.part.updated': 'decoded',
  'message.part.delta': 'decoded',
  'message.part.removed': 'decoded',
  'todo.updated': 'decoded',
  'question.asked': 'decoded',
  'question.replied': 'decoded',
  'question.rejected': 'decoded',
  'permission.asked': 'decoded',
  'permission.replied': 'decoded',
  'server.connected': 'decoded',
  'server.instance.disposed': 'decoded',
  // The same events again, for sessions driven over the newer interface.
  'session.next.agent.switched': 'ignored',
  'session.next.model.switched': 'ignored',
  'session.next.moved': 'ignored',
  'session.next.prompted': 'ignored',
  'session.next.prompt.admitted': 'ignored',
  'session.next.context.updated': 'ignored',
  'session.next.synthetic': 'ignored',
  'session.next.shell.started': 'ignored',
  'session.next.shell.ended': 'ignored',
  'session.next.step.started': 'ignored',
  'session.next.step.ended': 'ignored',
  'session.next.step.failed': 'ignored',
  'session.next.text.started': 'ignored',
  'session.next.text.delta': 'ignored',
  'session.next.text.ended': 'ignored',
  'session.next.reasoning.started': 'ignored',
  'session.next.reasoning.delta': 'ignored',
  'session.next.reasoning.ended': 'ignored',
  'session.next.tool.input.started': 'ignored',
  'session.next.tool.input.delta': 'ignored',
  'session.next.tool.input.ended': 'ignored',
  'session.next.tool.called': 'ignored',
  'session.next.tool.progress': 'ignored',
  'session.next.tool.success': 'ignored',
  'session.next.tool.failed': 'ignored',
  'session.next.retried': 'ignored',
  'session.next.compaction.started': 'ignored',
  'session.next.compaction.delta': 'ignored',
  'session.next.compaction.ended': 'ignored',
  'session.next.revert.staged': 'ignored',
  'session.next.revert.cleared': 'ignored',
  'session.next.revert.committed': 'ignored',
  'permission.v2.asked': 'ignored',
  'permission.v2.replied': 'ignored',
  'question.v2.asked': 'ignored',
  'question.v2.replied': 'ignored',
  'question.v2.rejected': 'ignored',
  // Unrelated to replies.
  'models-dev.refreshed': 'ignored',
  'integration.updated': 'ignored',
  'integration.connection.updated': 'ignored',
  'catalog.updated': 'ignored',
  'session.diff': 'ignored',
  'installation.updated': 'ignored',
  'installation.update-available': 'ignored',
  'file.edited': 'ignored',
  'reference.updated': 'ignored',
  'plugin.added': 'ignored',
  'project.directories.updated': 'ignored',
  'file.watcher.updated': 'ignored',
  'pty.created': 'ignored',
  'pty.updated': 'ignored',
  'pty.exited': 'ignored',
  'pty.deleted': 'ignored',
  'lsp.updated': 'ignored',
  'tui.prompt.append': 'ignored',
  'tui.command.execute': 'ignored',
  'tui.toast.show': 'ignored',
  'tui.session.select': 'ignored',
  'mcp.tools.changed': 'ignored',
  'mcp.browser.open.failed': 'ignored',
  'command.executed': 'ignored',
  'project.updated': 'ignored',
  'vcs.branch.updated': 'ignored',
  'workspace.ready': 'ignored',
  'workspace.failed': 'ignored',
  'workspace.status': 'ignored',
  'worktree.ready': 'ignored',
  'worktree.failed': 'ignored',
  'global.disposed': 'ignored',
} as const satisfies Record<Event['type'], 'decoded' | 'ignored'>

type Events = typeof events
type Decoded = { [T in keyof Events]: Events[T] extends 'decoded' ? T : never }[keyof Events]
type Schemas = typeof eventSchemas
type Parts = typeof partSchemas

/** Sent by old servers only; the SDK no longer has it. */
type Old = 'permission.updated'
/** Read without a schema. */
type ByHand = 'message.part.delta' | 'server.connected'

type Properties<T extends Event['type']> = Extract<Event, { type: T }>['properties']
type PartOf<T extends SdkPart['type']> = Extract<SdkPart, { type: T }>

/** The events and parts whose SDK shape the schema would refuse. */
type Refused =
  | { [T in Decoded & keyof Schemas]: Properties<T> extends z.input<Schemas[T]> ? never : T }[Decoded & keyof Schemas]
  | { [T in SdkPart['type']]: PartOf<T> extends z.input<Parts[T]> ? never : T }[SdkPart['type']]

/** Paths of the fields that a schema reads but the SDK's type lacks; five levels deep. */
type Unheard<Ours, Theirs, Left extends 1[] = [1, 1, 1, 1, 1]> = Left extends [1, ...infer Rest extends 1[]]
  ? Ours extends readonly (infer O)[]
    ? Theirs extends readonly (infer T)[]
      ? Unheard<O, T, Rest>
      : never
    : { [K in Named<Ours>]: K extends AnyKey<Theirs> ? Below<Ours, Theirs, K, Rest> : K }[Named<Ours>]
  : never
type Below<Ours, Theirs, K extends string, Left extends 1[]> = Ours extends { [P in K]?: infer O }
  ? Within<K, Unheard<NonNullable<O>, NonNullable<AnyOf<Theirs, K>>, Left>>
  : never
type Named<T> = T extends object ? keyof { [K in keyof T as string extends K ? never : K]: 1 } & string : never
type AnyKey<T> = T extends object ? keyof T & string : never
type AnyOf<T, K extends string> = T extends { [P in K]?: infer V } ? V : never
type Within<K extends string, Inner> = Inner extends string ? `${K}.${Inner}` : never

type UnheardEvents = {
  [T in Decoded & keyof Schemas]: `${T} ${Unheard<z.input<Schemas[T]>, Properties<T>>}`
}[Decoded & keyof Schemas]
type UnheardParts = { [T in SdkPart['type']]: `${T} ${Unheard<z.input<Parts[T]>, PartOf<T>>}` }[SdkPart['type']]

export type EventsAreDecoded = Expect<Same<Decoded, Exclude<keyof Schemas, Old> | ByHand>>
export type PartsAreDecoded = Expect<Same<SdkPart['type'], keyof Parts>>
export type PartsAreModelled = Expect<Same<SdkPart['type'], Exclude<Part['type'], 'unknown'>>>
export type NothingIsRefused = Expect<Same<Refused, never>>
/** Sent only by older servers and by tools besides OpenCode's own. */
export type FieldsAreKnown = Expect<
  Same<
    UnheardEvents | UnheardParts,
    | 'permission.replied permissionID'
    | 'permission.replied response'
    | 'session.error error.message'
    | 'message.updated info.error.message'
    | 'retry error.message'
  >
>
export type DeltaIsKnown = Expect<
  Properties<'message.part.delta'> extends Record<'sessionID' | 'messageID' | 'partID' | 'field' | 'delta', string>
    ? true
    : false
>
