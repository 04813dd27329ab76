import {
  type Answer,
  type Ask,
  askDetails,
  askTitle,
  isShownText,
  type Part,
  partsOf,
  pendingAsks,
  type Reply,
} from '@reply/core'
import { endingOf, lossTexts, stopTexts, toolFacts } from '@reply/core/show'
import type { ComponentChildren } from 'preact'
import type { PageRun } from '../../src/state/page-run.ts'
import { texts } from '../texts.ts'
import { asReply } from './reply.ts'

/** What the reader of a page may do, in what both sides of a connection know of it. */
export interface ViewAccess {
  /** The name that is shown for the reader's answers. */
  readonly who?: string | undefined
  readonly mayAnswer: boolean
  readonly mayStop: boolean
  /** False once a link that allows a single time has done so. */
  readonly mayAllow: boolean
}

/** What a reader does. Each rejects with an error whose message is for people. */
export interface RunActions {
  readonly answer: (ask: Ask, answer: Answer) => Promise<void>
  readonly reject: (ask: Ask, message?: string) => Promise<void>
  readonly stop: () => Promise<void>
}

export interface RunViewProps {
  readonly run: PageRun
  /** What the reader may do. Without it, nothing. */
  readonly access?: ViewAccess | undefined
  /** How it is done. Without them, the run can only be read. */
  readonly actions?: RunActions | undefined
}

/** A whole run: what was asked, what the agent did and wrote, what it asks, and how it ended. */
export function RunView({ run, access, actions }: RunViewProps): ComponentChildren {
  const reply = asReply(run.reply)
  return (
    <article class="run">
      <h1>{reply.title ?? texts.untitled}</h1>
      {reply.prompt && <div class="prompt">{reply.prompt.text}</div>}
      {partsOf(reply).map((part) => (
        <SimplePart key={part.id} part={part} reply={reply} />
      ))}
      {pendingAsks(reply).map((ask) => (
        <SimpleAsk key={ask.requestID} ask={ask} actions={access?.mayAnswer ? actions : undefined} />
      ))}
      <p class="outcome">{endText(reply)}</p>
    </article>
  )
}

function SimplePart({ part, reply }: { readonly part: Part; readonly reply: Reply }): ComponentChildren {
  if (part.status === 'abandoned') return null
  if (isShownText(part)) return <div class="text">{part.text}</div>
  if (part.type !== 'tool') return null
  const { name, subject, end } = toolFacts(part, reply)
  return (
    <details class="tool">
      <summary>
        {name} {subject} {end ? texts.toolEnd(end) : texts.call[part.state.status]}
      </summary>
      <pre>{JSON.stringify(part.state.input, null, 2)}</pre>
      <pre>{part.state.output ?? part.state.error}</pre>
    </details>
  )
}

interface SimpleAskProps {
  readonly ask: Ask
  readonly actions: RunActions | undefined
}

function SimpleAsk({ ask, actions }: SimpleAskProps): ComponentChildren {
  const details = ask.type === 'permission' ? askDetails(ask) : undefined
  return (
    <section class="ask">
      <h2>{ask.type === 'permission' ? askTitle(ask) : texts.ask.question}</h2>
      {details?.map(({ label, text }) => (
        <pre key={label}>{text}</pre>
      ))}
      {ask.type === 'question' && ask.questions.map((one) => <p key={one.question}>{one.question}</p>)}
      {actions && details && (
        <button type="button" onClick={() => void actions.answer(ask, 'once')}>
          {texts.ask.once}
        </button>
      )}
      {actions && (
        <button type="button" onClick={() => void actions.reject(ask)}>
          {texts.ask.reject}
        </button>
      )}
    </section>
  )
}

function endText(reply: Reply): string {
  const ending = endingOf(reply)
  if (!ending) return texts.phases[reply.phase]
  if (ending.type === 'lost') return lossTexts[ending.why]
  return ending.type === 'stopped' ? texts.ended.stopped(stopTexts[ending.why]) : texts.outcomes[ending.type]
}
