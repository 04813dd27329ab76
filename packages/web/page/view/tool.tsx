import {
  type Ask,
  askDetails,
  askTitle,
  currentActivity,
  emptyReply,
  escapeInvisible,
  isTodoTool,
  type PermissionAsk,
  type Reply,
  type Todo,
  type ToolPart,
  totalUsage,
} from '@reply/core'
import { changesOf, dollars, duration, elapsed, toolFacts } from '@reply/core/show'
import { type ComponentChildren, Fragment } from 'preact'
import { texts } from '../texts.ts'
import { AskedOf, DetailList } from './ask.tsx'
import { LongText } from './code.tsx'
import { useNow } from './context.ts'
import { FileSection } from './diff/changes.tsx'
import { Files } from './file.tsx'
import { Fold } from './fold.tsx'
import type { IconName } from './icons.tsx'
import { memo } from './memo.ts'
import type { Agent } from './rows.ts'
import { Todos } from './todos.tsx'

interface ToolRowProps {
  readonly id: string
  readonly part: ToolPart
  /** The asks about this call. */
  readonly asks: readonly Ask[]
  readonly answers: Readonly<Record<string, { readonly by: string }>>
  readonly directory: string | undefined
  readonly isOpen: boolean
}

/** A call: its name, its subject and how it ended. Unfolded also its input and its output. */
export const ToolRow = memo(({ id, part, asks, answers, directory, isOpen }: ToolRowProps): ComponentChildren => {
  const { name, subject, end } = toolFacts(part, { asks, directory })
  const { status, startedAt, endedAt } = part.state
  const todos = isTodoTool(part.tool) ? todosIn(part.state.input.todos) : undefined
  const isRunning = part.status === 'open' && (status === 'running' || status === 'pending')
  const state = end ? 'failed' : isRunning ? 'running' : 'done'
  const shownSubject = todos ? texts.todosDone(todos.filter(isDone).length, todos.length) : subject
  const head = (
    <Fragment>
      <span class="tool-name">{escapeInvisible(name)}</span>
      {shownSubject !== undefined && <span class="tool-subject">{oneLine(shownSubject)}</span>}
      <span class={`tool-state ${state}`}>
        {state === 'running' && <span class="spinner" aria-hidden="true" />}
        {end ? escapeInvisible(oneLine(texts.toolEnd(end))) : isRunning ? texts.call[status] : <Done />}
      </span>
      <Took startedAt={startedAt} endedAt={endedAt} isRunning={isRunning && status === 'running'} />
    </Fragment>
  )
  return (
    <Fragment>
      <Fold id={id} icon={iconOf(part.tool)} kind={`tool ${state}`} isOpen={isOpen} head={head}>
        {() => <ToolBody part={part} todos={todos} directory={directory} />}
      </Fold>
      {asks.map(
        (ask) => ask.status !== 'pending' && <AskedOf key={ask.requestID} ask={ask} by={answers[ask.requestID]?.by} />,
      )}
      {part.state.attachments && <Files files={part.state.attachments} />}
    </Fragment>
  )
})

function Done(): ComponentChildren {
  return <span class="visually-hidden">{texts.call.completed}</span>
}

interface TookProps {
  readonly startedAt: number | undefined
  readonly endedAt: number | undefined
  readonly isRunning: boolean
}

/** How long something took, or has been running. Nothing if it is not known, or too short to matter. */
function Took({ startedAt, endedAt, isRunning }: TookProps): ComponentChildren {
  const now = useNow(isRunning && startedAt !== undefined)
  if (startedAt === undefined) return null
  if (endedAt !== undefined)
    return endedAt - startedAt < 1000 ? null : <span class="took">{duration(endedAt - startedAt)}</span>
  return isRunning && now - startedAt >= 1000 ? <span class="took">{elapsed(now - startedAt)}</span> : null
}

const icons: Readonly<Record<string, IconName>> = {
  bash: 'terminal',
  shell: 'terminal',
  edit: 'edit',
  multiedit: 'edit',
  write: 'edit',
  apply_patch: 'edit',
  patch: 'edit',
  notebookedit: 'edit',
  read: 'read',
  list: 'read',
  ls: 'read',
  grep: 'search',
  glob: 'search',
  codesearch: 'search',
  webfetch: 'web',
  websearch: 'web',
  fetch: 'web',
  todowrite: 'list',
  todoread: 'list',
  task: 'agent',
  subagent: 'agent',
  question: 'question',
}

function iconOf(tool: string): IconName {
  const name = tool.toLowerCase()
  return (Object.hasOwn(icons, name) ? icons[name] : undefined) ?? 'tool'
}

/** A text with paths relative to the directory. */
export function within(text: string, directory: string | undefined): string {
  return directory !== undefined && directory.length > 1 ? text.replaceAll(`${directory}/`, '') : text
}

/** A text as one line, with what is invisible written out. */
function oneLine(text: string): string {
  return escapeInvisible(text.slice(0, 600).replace(/\s+/g, ' ').trim())
}

interface ToolBodyProps {
  readonly part: ToolPart
  readonly todos: readonly Todo[] | undefined
  readonly directory: string | undefined
}

/** The input and the output of a call: a command as in a terminal, an edit as a diff, a checklist as one. */
function ToolBody({ part, todos, directory }: ToolBodyProps): ComponentChildren {
  const { state } = part
  const { input, metadata = {}, output, error } = state
  if (todos) return <Todos todos={todos} />
  const running = typeof metadata.output === 'string' ? metadata.output : undefined
  const shownOutput = output ?? running
  if (typeof input.command === 'string')
    return <Terminal command={input.command} output={shownOutput} error={error} input={input} />
  const changes = changesOf({ ...emptyReply(''), directory, messages: [messageWith(part)] })
  if (changes.some(({ patches }) => patches.length > 0))
    return (
      <Fragment>
        {changes.map((change, index) => (
          <FileSection key={`${index}:${change.path}`} change={change} layout="unified" />
        ))}
        {error !== undefined && <Labelled label={texts.error} text={error} />}
      </Fragment>
    )
  return (
    <Fragment>
      <Input part={part} directory={directory} />
      {shownOutput !== undefined && shownOutput !== '' && <Labelled label={texts.output} text={shownOutput} />}
      {error !== undefined && <Labelled label={texts.error} text={error} />}
    </Fragment>
  )
}

function messageWith(part: ToolPart): Reply['messages'][number] {
  return { id: part.messageID, parts: [part], raw: undefined }
}

interface TerminalProps {
  readonly command: string
  readonly output: string | undefined
  readonly error: string | undefined
  readonly input: Readonly<Record<string, unknown>>
}

function Terminal({ command, output, error, input }: TerminalProps): ComponentChildren {
  const { workdir, cwd = workdir } = input
  return (
    <div class="terminal">
      {typeof cwd === 'string' && <div class="terminal-place">{escapeInvisible(cwd)}</div>}
      <div class="terminal-command">
        <span aria-hidden="true">$ </span>
        <code>{escapeInvisible(command)}</code>
      </div>
      {output !== undefined && output !== '' && <LongText text={output} shows="end" label={texts.output} />}
      {error !== undefined && (
        <div class="terminal-error">
          <LongText text={error} label={texts.error} />
        </div>
      )}
    </div>
  )
}

interface LabelledProps {
  readonly label: string
  readonly text: string
}

function Labelled({ label, text }: LabelledProps): ComponentChildren {
  return (
    <div class="labelled">
      <div class="label">{label}</div>
      <LongText text={text} label={label} />
    </div>
  )
}

/** The input of a call by its fields, as an ask shows it. */
function Input({
  part,
  directory,
}: {
  readonly part: ToolPart
  readonly directory: string | undefined
}): ComponentChildren {
  const { tool, state } = part
  if (Object.keys(state.input).length === 0) return null
  const ask: PermissionAsk = {
    ...{ type: 'permission', requestID: '', sessionID: '', path: [], status: 'pending', directory },
    ...{ permission: tool, patterns: [], always: [], title: tool, metadata: {}, call: { tool, input: state.input } },
  }
  const details = askDetails(ask)
  // Without details, the title has all of it.
  const shown = details?.length === 0 ? [{ label: '', format: 'text', text: askTitle(ask) } as const] : details
  if (shown)
    return (
      <div class="labelled">
        <div class="label">{texts.input}</div>
        <DetailList details={shown} isWhole={false} />
      </div>
    )
  return <Labelled label={texts.input} text={JSON.stringify(state.input, null, 2)} />
}

function todosIn(value: unknown): readonly Todo[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.flatMap((item: unknown): readonly Todo[] => {
    if (typeof item !== 'object' || item === null || !('content' in item)) return []
    const { content } = item
    const status = 'status' in item && typeof item.status === 'string' ? item.status : 'pending'
    return typeof content === 'string' ? [{ content, status }] : []
  })
}

function isDone({ status }: Todo): boolean {
  return status === 'completed'
}

interface AgentRowProps {
  readonly agent: Agent
  readonly isOpen: boolean
}

/** A sub-agent: its name, its task, and what it does or how it ended. Its own rows follow while it is unfolded. */
export const AgentRow = memo(({ agent, isOpen }: AgentRowProps): ComponentChildren => {
  const { key, child } = agent
  const { reply } = child
  const isRunning = reply.phase !== 'settled'
  const { outcome } = reply
  const state = isRunning ? 'running' : outcome === 'completed' ? 'done' : 'failed'
  const { cost } = totalUsage(reply)
  const activity = currentActivity(reply)
  const head = (
    <Fragment>
      <span class="tool-name">{escapeInvisible(child.agent ?? texts.subAgent)}</span>
      <span class="tool-subject">
        {oneLine(child.title ?? '')}
        {child.background && <span class="quiet"> · {texts.background}</span>}
        {isRunning && activity !== undefined && (
          <span class="quiet"> · {oneLine(within(activity, reply.directory))}</span>
        )}
      </span>
      <span class={`tool-state ${state}`}>
        {isRunning && <span class="spinner" aria-hidden="true" />}
        {isRunning ? texts.phases[reply.phase] : outcome === 'completed' ? <Done /> : texts.outcomes[outcome ?? 'lost']}
      </span>
      {cost > 0 && <span class="took spent">{dollars(cost)}</span>}
      <Took startedAt={reply.startedAt} endedAt={reply.settledAt} isRunning={isRunning} />
    </Fragment>
  )
  return <Fold id={key} icon="agent" kind={`tool agent ${state}`} isOpen={isOpen} head={head} />
})
