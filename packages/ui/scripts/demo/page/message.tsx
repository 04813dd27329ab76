import type { DynamicToolUIPart, FileUIPart } from 'ai'
import { memo, type ReactNode } from 'react'
import type { UIAgent, UIAsk, UIFile, UIMetadata, UIPartInfo, UITodos } from '../../../src/index.ts'
import { type Choice, Permission, Questions } from './ask.tsx'
import { Markdown } from './markdown.tsx'
import { infoOf, type ReplyMessage, shownParts } from './reply-message.ts'
import { subjectIn, ToolCall, type ToolState } from './tool.tsx'

/** An answer to an ask: of a permission, or one list for each question. */
export type Answer = Choice | readonly (readonly string[])[]

/** A message as it is shown. */
export interface MessageProps {
  readonly message: ReplyMessage
  /** Whether asks can't be answered now, because an answer is on its way. */
  readonly isBusy: boolean
  readonly onAnswer: (ask: UIAsk, answer: Answer) => void
}

/** Shows a message with all its parts. */
export const Message = memo(function Message({ message, isBusy, onAnswer }: MessageProps): ReactNode {
  const { role, metadata } = message
  if (role === 'user')
    return (
      <article className="message user" aria-label="You">
        <div className="said">{message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')}</div>
      </article>
    )
  const asked = new Set(
    message.parts.flatMap((part) =>
      part.type === 'data-ask' && part.data.type === 'question' ? part.data.toolCallId : [],
    ),
  )
  return (
    <article className="message assistant" aria-label="Agent">
      {shownParts(message).map(({ key, part }) => {
        switch (part.type) {
          case 'text':
            return part.text === '' ? undefined : <Markdown key={key} text={part.text} />
          case 'reasoning':
            return part.text === '' ? undefined : <Thought key={key} text={part.text} />
          case 'dynamic-tool':
            return asked.has(part.toolCallId) ? undefined : <Tool key={key} part={part} />
          case 'file':
            return <Picture key={key} file={part} info={infoOf(part)} />
          case 'data-file':
            return <RemoteFile key={key} file={part.data} />
          case 'data-ask':
            return <Ask key={key} ask={part.data} isBusy={isBusy} onAnswer={onAnswer} />
          case 'data-agent':
            return <Agent key={key} agent={part.data} />
          case 'data-todos':
            return <Todos key={key} todos={part.data.todos} />
          default:
            return undefined
        }
      })}
      {metadata?.outcome && <Ending metadata={metadata} />}
    </article>
  )
})

/** Shows what the model thought in one line, which opens to the whole. */
export function Thought({ text }: { readonly text: string }): ReactNode {
  return (
    <details className="thought">
      <summary>
        <span className="tool-title">Thought: {text}</span>
      </summary>
      <Markdown text={text} />
    </details>
  )
}

function Tool({ part }: { readonly part: DynamicToolUIPart }): ReactNode {
  const subject = subjectIn(part.input) || (part.title ?? '')
  return (
    <ToolCall tool={part.toolName} title={subject} state={toolState(part)} input={part.input} output={outputOf(part)} />
  )
}

export function toolState(part: DynamicToolUIPart): ToolState {
  switch (part.state) {
    case 'input-streaming':
      return 'preparing'
    case 'input-available':
    case 'approval-responded':
      return 'running'
    case 'approval-requested':
      return 'waiting'
    case 'output-available':
      return part.preliminary ? 'running' : 'done'
    case 'output-error':
      return 'failed'
    case 'output-denied':
      return 'rejected'
    default:
      return part satisfies never
  }
}

function outputOf(part: DynamicToolUIPart): string | undefined {
  if (part.state === 'output-error') return part.errorText
  if (part.state !== 'output-available') return undefined
  return typeof part.output === 'string' ? part.output : JSON.stringify(part.output, undefined, 2)
}

/** Types that a browser shows as a picture without running anything in it. */
const pictures: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

interface PictureProps {
  readonly file: FileUIPart
  readonly info: Partial<UIPartInfo>
}

/** Shows a file whose content or address came with the message. Only `data:` and web addresses become links. */
export function Picture({ file, info: { filename, caption } }: PictureProps): ReactNode {
  const { url, mediaType } = file
  const name = filename ?? file.filename ?? `a file (${mediaType})`
  const isData = url.startsWith('data:')
  const isLink = isData || /^https?:\/\//i.test(url)
  return (
    <figure className="file">
      {isData && pictures.includes(mediaType) && <img src={url} alt={caption ?? name} />}
      <figcaption>
        {isLink ? (
          <a
            href={url}
            {...(isData && { download: filename ?? '' })}
            target="_blank"
            rel="noopener noreferrer nofollow"
          >
            {name}
          </a>
        ) : (
          name
        )}
        {caption !== undefined && ` · ${caption}`}
      </figcaption>
    </figure>
  )
}

/** Shows a file that is on the agent's computer. */
export function RemoteFile({ file: { filename, mime, size, caption } }: { readonly file: UIFile }): ReactNode {
  const facts = [filename ?? mime, ...(size === undefined ? [] : [`${size} bytes`]), ...(caption ? [caption] : [])]
  return <p className="file">{facts.join(' · ')}</p>
}

interface AskProps extends Pick<MessageProps, 'isBusy' | 'onAnswer'> {
  readonly ask: UIAsk
}

function Ask({ ask, isBusy, onAnswer }: AskProps): ReactNode {
  const { title, details, always = [], questions } = ask
  if (ask.status !== 'pending') return <ClosedAsk ask={ask} />
  if (questions)
    return (
      <Questions
        questions={questions}
        isSent={isBusy}
        onAnswer={(answers) => onAnswer(ask, answers)}
        onReject={() => onAnswer(ask, 'reject')}
      />
    )
  return <Permission {...{ title, details, always }} isSent={isBusy} onAnswer={(choice) => onAnswer(ask, choice)} />
}

const replies = { once: 'Allowed once', always: 'Always allowed', reject: 'Rejected' } as const

/** Says how an ask ended, in one line. */
export function ClosedAsk({ ask: { title, answers, reply, status } }: { readonly ask: UIAsk }): ReactNode {
  if (answers)
    return <p className="closed-ask">{`${title}: ${answers.map((answer) => answer.join(', ')).join('; ')}`}</p>
  const how = reply ? replies[reply] : status === 'withdrawn' ? 'No longer asked' : 'Not answered'
  return <p className="closed-ask">{`${how}: ${title}`}</p>
}

/** Shows a sub-agent with what it does at the moment. */
export function Agent({ agent: { agent, title, phase, outcome, activity } }: { readonly agent: UIAgent }): ReactNode {
  return (
    <section className="agent" data-phase={phase} aria-label={`Sub-agent ${agent ?? ''}`}>
      <span className="tool-name">{agent ?? 'sub-agent'}</span>
      <span className="tool-title">{title ?? ''}</span>
      <span className="tool-state">{outcome ?? phase}</span>
      {phase !== 'settled' && <span className="agent-activity">{activity ?? ''}</span>}
    </section>
  )
}

/** Shows the checklist. */
export function Todos({ todos }: { readonly todos: UITodos['todos'] }): ReactNode {
  const done = todos.filter(({ status }) => status === 'completed').length
  return (
    <section className="todos">
      <h3>
        To do
        <span>
          {done} of {todos.length}
        </span>
      </h3>
      <ul>
        {todos.map(({ content, status }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a to-do has no other name.
          <li key={index} data-status={status}>
            <span>{content}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const outcomes = {
  ...{ completed: 'Done', stopped: 'Ended early', aborted: 'Stopped', failed: 'Failed' },
  ...{ 'timed-out': 'Took too long', lost: 'Its end was not seen' },
} as const

/** Says how a reply ended, with its model and its tokens. */
export function Ending({ metadata: { outcome, error, model, usage } }: { readonly metadata: UIMetadata }): ReactNode {
  const tokens = usage && usage.input + usage.output + usage.reasoning + usage.cacheRead + usage.cacheWrite
  return (
    <footer className="ending" data-outcome={outcome}>
      <b>{outcome && outcomes[outcome]}</b>
      {error?.message && outcome !== 'aborted' && <span>{error.message}</span>}
      {model && <span>{model.modelID}</span>}
      {tokens !== undefined && tokens > 0 && <span>{tokens.toLocaleString('en')} tokens</span>}
    </footer>
  )
}
