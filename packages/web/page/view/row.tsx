import { type Ask, currentActivity, escapeInvisible, type Reply, totalUsage } from '@reply/core'
import { isAskDue } from '@reply/core/internal'
import {
  amount,
  contextPercent,
  counted,
  dollars,
  duration,
  elapsed,
  endingOf,
  lossTexts,
  reasonIn,
  stopTexts,
} from '@reply/core/show'
import { type ComponentChildren, Fragment } from 'preact'
import { texts } from '../texts.ts'
import { AskCard, AskedOf } from './ask.tsx'
import { LongText } from './code.tsx'
import { type RunActions, useNow, type ViewAccess } from './context.ts'
import { FileFigure } from './file.tsx'
import { Fold } from './fold.tsx'
import { Icon } from './icons.tsx'
import { Markdown, MarkdownChunk } from './markdown.tsx'
import { memo } from './memo.ts'
import { type Agent, agentKey, type Row, type Scope } from './rows.ts'
import { AgentRow, ToolRow, within } from './tool.tsx'

type Answers = Readonly<Record<string, { readonly by: string }>>

/** What a row needs of its reply. What it does not need is left out, so that it isn't rendered again for it. */
interface RowContext {
  readonly reply?: Reply | undefined
  readonly directory?: string | undefined
  /** The asks about a call, and the sub-agents that it started. */
  readonly asks?: readonly Ask[] | undefined
  readonly agents?: readonly Agent[] | undefined
}

/** Returns what a row needs of the reply that it belongs to. */
export function contextOf(row: Row, scope: Scope | undefined): RowContext {
  if (row.type === 'tool') {
    const { callID } = row.part
    return { directory: scope?.reply.directory, asks: scope?.asks.get(callID), agents: scope?.agents.get(callID) }
  }
  return row.type === 'agent' || row.type === 'ask' || row.type === 'end' ? { reply: scope?.reply } : {}
}

interface RowViewProps extends RowContext {
  readonly row: Row
  readonly answers: Answers
  /** What is unfolded, by the keys of rows and sub-agents. */
  readonly open: ReadonlySet<string>
  readonly access: ViewAccess | undefined
  readonly actions: RunActions | undefined
}

const none: readonly never[] = []

/** One row of the list. */
export const RowView = memo(
  (props: RowViewProps): ComponentChildren => (
    <div class={`row-body row-${props.row.type}`} data-depth={Math.min(props.row.depth, 6) || undefined}>
      {contentOf(props)}
    </div>
  ),
)

function contentOf(props: RowViewProps): ComponentChildren {
  const { row, reply, directory, asks = none, agents = none, answers, open, access, actions } = props
  switch (row.type) {
    case 'prompt':
      return <PromptRow prompt={row.prompt} isJoined={row.isJoined} isNested={row.depth > 0} />
    case 'text':
      return (
        <Fragment>
          {row.isFirst && row.hasHole && <p class="note">{texts.missing}</p>}
          {row.isStderr ? (
            <pre class="stderr">{escapeInvisible(row.chunk.text)}</pre>
          ) : (
            <MarkdownChunk chunk={row.chunk} definitions={row.definitions} />
          )}
        </Fragment>
      )
    case 'reasoning':
      return (
        <ReasoningRow
          id={row.key}
          text={row.part.text}
          isGrowing={row.part.status === 'open'}
          isOpen={open.has(row.key)}
        />
      )
    case 'tool': {
      if (agents.length > 0)
        return (
          <Fragment>
            {agents.map((agent) => (
              <AgentRow key={agent.key} agent={agent} isOpen={open.has(agent.key)} />
            ))}
            {asks.map(
              (ask) =>
                ask.status !== 'pending' && <AskedOf key={ask.requestID} ask={ask} by={answers[ask.requestID]?.by} />,
            )}
          </Fragment>
        )
      return (
        <ToolRow
          id={row.key}
          part={row.part}
          asks={asks}
          answers={answers}
          directory={directory}
          isOpen={open.has(row.key)}
        />
      )
    }
    case 'agent': {
      const child = reply?.children[row.at]
      const key = agentKey(row.owner, row.at)
      return child && <AgentRow agent={{ key, child }} isOpen={open.has(key)} />
    }
    case 'file':
      return <FileFigure file={row.part} />
    case 'patch':
      return (
        <Fold
          id={row.key}
          icon="edit"
          kind="patch"
          isOpen={open.has(row.key)}
          head={<span class="quiet">{texts.changedFiles}</span>}
        >
          {() => (
            <ul class="patch-files">
              {row.part.files.map((file) => (
                <li key={file}>
                  <code>{escapeInvisible(file)}</code>
                </li>
              ))}
            </ul>
          )}
        </Fold>
      )
    case 'retry':
      return (
        <Notice
          tone="warn"
          text={`${texts.retried(row.part.attempt)}: ${escapeInvisible(reasonIn(row.part.error.message) || row.part.error.name)}`}
        />
      )
    case 'failure':
      return <Notice tone="warn" text={escapeInvisible(reasonIn(row.error.message) || row.error.name)} />
    case 'compaction': {
      const { state, tokensBefore } = row.compaction
      const before = tokensBefore === undefined ? undefined : amount(tokensBefore)
      return <div class="divider">{state === 'running' ? texts.compacting : texts.compacted(before)}</div>
    }
    case 'ask':
      return row.ask.status === 'pending' && reply ? (
        <PendingAsk ask={row.ask} reply={reply} access={access} actions={actions} />
      ) : (
        <AskedOf ask={row.ask} by={answers[row.ask.requestID]?.by} />
      )
    case 'end':
      return reply && <EndRow reply={reply} />
    default:
      return row satisfies never
  }
}

interface PendingAskProps {
  readonly ask: Ask
  readonly reply: Reply
  readonly access: ViewAccess | undefined
  readonly actions: RunActions | undefined
}

function PendingAsk({ ask, reply, access, actions }: PendingAskProps): ComponentChildren {
  const isKnown = isAskDue(ask, reply)
  const now = useNow(!isKnown)
  const isDue = isKnown || isAskDue(ask, reply, now)
  return <AskCard ask={ask} agent={agentOf(ask, reply)} isDue={isDue} access={access} actions={actions} />
}

/** The name of the sub-agent that asks. Undefined if it is the run itself. */
function agentOf(ask: Ask, reply: Reply): string | undefined {
  let name: string | undefined
  let inner: Reply | undefined = reply
  for (const sessionID of ask.path.slice(1)) {
    const child: Reply['children'][number] | undefined = inner?.children.findLast(
      (one) => one.reply.sessionID === sessionID,
    )
    name = child?.agent ?? child?.title ?? texts.subAgent
    inner = child?.reply
  }
  return ask.sessionID === reply.sessionID ? undefined : (name ?? texts.subAgent)
}

interface PromptRowProps {
  readonly prompt: NonNullable<Reply['prompt']>
  readonly isJoined: boolean
  readonly isNested: boolean
}

const PromptRow = memo(
  ({ prompt, isJoined, isNested }: PromptRowProps): ComponentChildren => (
    <div class={isNested ? 'prompt nested' : 'prompt'} dir="auto">
      <h2 class={isJoined ? 'prompt-kind' : 'visually-hidden'}>{isJoined ? texts.joined : texts.prompt}</h2>
      <LongProse text={prompt.text} />
      {prompt.files.length > 0 && (
        <ul class="prompt-files" aria-label={texts.files(prompt.files.length)}>
          {prompt.files.map((name, index) => (
            <li key={index}>
              <Icon name="file" />
              {escapeInvisible(name)}
            </li>
          ))}
        </ul>
      )}
    </div>
  ),
)

/** A person's text as it was written. A very long one is folded. */
function LongProse({ text }: { readonly text: string }): ComponentChildren {
  return text.length > 6000 ? <LongText text={text} label={texts.prompt} /> : <p class="prose">{text}</p>
}

interface ReasoningRowProps {
  readonly id: string
  readonly text: string
  readonly isGrowing: boolean
  readonly isOpen: boolean
}

const ReasoningRow = memo(({ id, text, isGrowing, isOpen }: ReasoningRowProps): ComponentChildren => {
  const lastLine = text.trimEnd().split('\n').at(-1) ?? ''
  const head = (
    <Fragment>
      <span class="tool-name quiet">{isGrowing ? texts.thinking : texts.thought}</span>
      {!isOpen && (
        <span class="tool-subject quiet">
          {escapeInvisible(
            (isGrowing ? lastLine : text.trimStart())
              .slice(0, 300)
              .replace(/[*_`#]+/g, '')
              .replace(/\s+/g, ' '),
          )}
        </span>
      )}
      {isGrowing && <span class="spinner" aria-hidden="true" />}
    </Fragment>
  )
  return (
    <Fold id={id} icon="thought" kind="thought" isOpen={isOpen} head={head}>
      {() => <Markdown text={text} />}
    </Fold>
  )
})

interface NoticeProps {
  readonly tone: 'warn' | 'danger' | 'plain'
  readonly text: string
}

function Notice({ tone, text }: NoticeProps): ComponentChildren {
  return <p class={`remark ${tone}`}>{text}</p>
}

/** The last row: what happens now, or how it ended and what it used. */
function EndRow({ reply }: { readonly reply: Reply }): ComponentChildren {
  return (
    <Fragment>
      <h2 class="visually-hidden">{texts.state}</h2>
      {reply.phase === 'settled' ? <Outcome reply={reply} /> : <Activity reply={reply} />}
    </Fragment>
  )
}

/** What the run does now, and what is in its way. */
function Activity({ reply }: { readonly reply: Reply }): ComponentChildren {
  const { phase, startedAt, retry, connection, stalled, aborting } = reply
  const now = useNow(true)
  const activity = aborting ? texts.stopping : currentActivity(reply)
  const wait = retry?.nextAt !== undefined && retry.nextAt > now ? elapsed(retry.nextAt - now) : undefined
  return (
    <div class={`activity ${phase}`}>
      <p>
        <span class="pulse" aria-hidden="true" />
        <span>
          {phase === 'working' && activity !== undefined
            ? escapeInvisible(capital(within(activity, reply.directory)))
            : texts.phases[phase]}
        </span>
        {startedAt !== undefined && <span class="quiet">{elapsed(now - startedAt)}</span>}
      </p>
      {retry && (
        <Notice tone="warn" text={`${texts.retry(retry.attempt, wait)} ${escapeInvisible(reasonIn(retry.message))}`} />
      )}
      {connection === 'lost' && <Notice tone="warn" text={texts.connectionLost} />}
      {stalled && <Notice tone="plain" text={texts.stalled} />}
    </div>
  )
}

/** `Thinking` for `thinking`. The names of tools stay as they are. */
function capital(text: string): string {
  return /^[a-z]+$/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text
}

/** How the run ended, in words, and what it used. */
function Outcome({ reply }: { readonly reply: Reply }): ComponentChildren {
  const outcome = reply.outcome ?? 'lost'
  const ending = endingOf(reply)
  const { message = '' } = reply.error ?? {}
  const isLong = message.trim() !== '' && message.trim().includes('\n')
  const percent = contextPercent(reply)
  const { cost, steps, input, output, cacheRead, cacheWrite } = totalUsage(reply)
  const took =
    reply.startedAt !== undefined && reply.settledAt !== undefined ? reply.settledAt - reply.startedAt : undefined
  const facts = [
    ...(took === undefined ? [] : [duration(took)]),
    ...(steps > 0 ? [counted(steps, 'step')] : []),
    ...(input + output > 0 ? [`${amount(input + output + cacheRead + cacheWrite)} tokens`] : []),
    ...(cost > 0 ? [dollars(cost)] : []),
    ...(percent === undefined ? [] : [`${texts.facts.context.toLowerCase()} ${texts.facts.contextOf(percent)}`]),
  ]
  return (
    <div class={`outcome ${toneOf(outcome)}`}>
      <p>
        <Icon name={outcome === 'completed' ? 'done' : 'failed'} />
        <strong>{texts.outcomes[outcome]}</strong>
        <span class="quiet">{facts.join(' · ')}</span>
      </p>
      {ending && <EndingText ending={ending} />}
      {isLong && (reply.outcome === 'failed' || reply.outcome === 'lost') && (
        <details>
          <summary>{texts.error}</summary>
          <LongText text={message} label={texts.error} />
        </details>
      )}
    </div>
  )
}

function toneOf(outcome: NonNullable<Reply['outcome']>): 'good' | 'warn' | 'danger' {
  if (outcome === 'completed') return 'good'
  return outcome === 'failed' || outcome === 'lost' ? 'danger' : 'warn'
}

function EndingText({ ending }: { readonly ending: NonNullable<ReturnType<typeof endingOf>> }): ComponentChildren {
  switch (ending.type) {
    case 'completed':
      return (
        <Fragment>
          {ending.isCutOff && <p>{texts.ended.cutOff}</p>}
          {ending.noText && <p>{texts.ended.noText(ending.noText)}</p>}
        </Fragment>
      )
    case 'stopped':
      return <p>{texts.ended.stopped(stopTexts[ending.why])}</p>
    case 'aborted':
      return <p>{texts.ended.aborted}</p>
    case 'failed':
      return (
        <Fragment>
          <p>{texts.ended.failed(ending.reason === undefined ? undefined : escapeInvisible(ending.reason))}</p>
          {ending.cure !== undefined && <p>{texts.cures[ending.cure]}</p>}
        </Fragment>
      )
    case 'timed-out':
      return <p>{texts.ended.timedOut(ending.afterMs === undefined ? undefined : duration(ending.afterMs))}</p>
    case 'lost':
      return <p>{lossTexts[ending.why]}</p>
    default:
      return ending satisfies never
  }
}
