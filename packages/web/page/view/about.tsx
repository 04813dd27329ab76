import { escapeInvisible, type Part, type Reply, type ToolPart, totalUsage } from '@reply/core'
import { amount, contextPercent, dollars, duration, elapsed, toolFacts } from '@reply/core/show'
import type { ComponentChildren } from 'preact'
import { texts } from '../texts.ts'
import { useNow } from './context.ts'
import { memo } from './memo.ts'
import { Todos } from './todos.tsx'

/** What is known of a run besides its parts: its checklist, its usage, its time line. */
export const About = memo(({ reply }: { readonly reply: Reply }): ComponentChildren => {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
    <section class="about" tabIndex={0} aria-label={texts.views.about}>
      {reply.todos.length > 0 && (
        <div>
          <h2>{texts.checklist}</h2>
          <Todos todos={reply.todos} />
        </div>
      )}
      <div>
        <h2>{texts.usage}</h2>
        <Facts reply={reply} />
      </div>
      <div>
        <h2>{texts.timeLine}</h2>
        <TimeLine reply={reply} />
      </div>
    </section>
  )
})

function Facts({ reply }: { readonly reply: Reply }): ComponentChildren {
  const { agent, model, directory, startedAt, settledAt, sessionID, phase } = reply
  const isRunning = phase !== 'settled'
  const now = useNow(isRunning)
  const usage = totalUsage(reply)
  const percent = contextPercent(reply)
  const cached = usage.cacheRead + usage.cacheWrite
  const { facts } = texts
  const took =
    startedAt === undefined
      ? undefined
      : isRunning
        ? elapsed(now - startedAt)
        : duration((settledAt ?? startedAt) - startedAt)
  const all: readonly (readonly [name: string, value: string | undefined])[] = [
    [facts.agent, agent],
    [facts.model, model && `${model.providerID}/${model.modelID}`],
    [facts.started, startedAt === undefined ? undefined : new Date(startedAt).toLocaleString()],
    [isRunning ? facts.running : facts.took, took],
    [facts.steps, usage.steps > 0 ? String(usage.steps) : undefined],
    [facts.cost, usage.cost > 0 ? dollars(usage.cost) : undefined],
    [facts.input, usage.input > 0 ? amount(usage.input + cached) : undefined],
    [facts.cached, cached > 0 ? amount(cached) : undefined],
    [facts.output, usage.output > 0 ? amount(usage.output) : undefined],
    [facts.reasoning, usage.reasoning > 0 ? amount(usage.reasoning) : undefined],
    [facts.context, percent === undefined ? undefined : facts.contextOf(percent)],
    [facts.directory, directory],
    [facts.session, sessionID],
  ]
  return (
    <dl class="facts">
      {all.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{escapeInvisible(value)}</dd>
          </div>
        ),
      )}
    </dl>
  )
}

interface Span {
  readonly key: string
  readonly type: 'step' | 'tool' | 'agent'
  readonly label: string
  readonly start: number
  readonly end: number | undefined
}

/** Spans beyond these are counted. The longest ones stay. */
const mostSpans = 60

/** The steps of the model, its calls and its sub-agents, each with a bar from its beginning to its end. */
function TimeLine({ reply }: { readonly reply: Reply }): ComponentChildren {
  const now = useNow(reply.phase !== 'settled')
  const spans = spansOf(reply)
  if (spans.length === 0) return <p class="quiet">{texts.noTimes}</p>
  const endOf = ({ start, end }: Span): number => end ?? (reply.phase === 'settled' ? start : Math.max(start, now))
  const from = spans.reduce((least, { start }) => Math.min(least, start), Number.POSITIVE_INFINITY)
  const whole = spans.reduce((most, span) => Math.max(most, endOf(span) - from), 1)
  const longest = new Set(spans.toSorted((a, b) => endOf(b) - b.start - (endOf(a) - a.start)).slice(0, mostSpans))
  const shown = spans.filter((span) => longest.has(span))
  return (
    <ol class="spans">
      {shown.map((span) => {
        const took = endOf(span) - span.start
        return (
          <li key={span.key} class={`span ${span.type}`}>
            <span class="span-label">{escapeInvisible(span.label)}</span>
            <span class="span-took">{duration(took)}</span>
            <span class="span-track" aria-hidden="true">
              <span
                class="span-bar"
                style={{
                  marginInlineStart: `${((span.start - from) / whole) * 100}%`,
                  width: `${Math.max(0.6, (took / whole) * 100)}%`,
                }}
              />
            </span>
          </li>
        )
      })}
      {spans.length > shown.length && <li class="quiet">{texts.moreTimes(spans.length - shown.length)}</li>}
    </ol>
  )
}

const spanOfCall = new WeakMap<Part, Span | undefined>()

function spansOf({ messages, directory }: Reply): readonly Span[] {
  return messages.flatMap(({ id, createdAt: start, completedAt: end, parts }, at) => {
    const step: readonly Span[] =
      start === undefined ? [] : [{ key: id, type: 'step', label: texts.step(at + 1), start, end }]
    const calls = parts.flatMap((part): readonly Span[] => {
      if (part.type !== 'tool') return []
      if (!spanOfCall.has(part)) spanOfCall.set(part, spanOf(part, directory))
      const span = spanOfCall.get(part)
      return span ? [span] : []
    })
    return [...step, ...calls]
  })
}

function spanOf(part: ToolPart, directory: string | undefined): Span | undefined {
  const { startedAt: start, endedAt: end } = part.state
  if (part.status === 'abandoned' || start === undefined) return undefined
  const { name, subject = '' } = toolFacts(part, { asks: [], directory })
  return {
    key: part.id,
    type: 'tool',
    label: `${name} ${subject}`.slice(0, 200).replace(/\s+/g, ' ').trim(),
    start,
    end,
  }
}
