import {
  type Ask,
  type AskDetail,
  alwaysOffer,
  alwaysReach,
  askDetails,
  askTitle,
  escapeDeceptive,
  type PermissionAsk,
  type Question,
  type QuestionAsk,
} from '@reply/core'
import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { LongText } from './code.tsx'
import { isBoolean, isText, type RunActions, useKept, type ViewAccess } from './context.ts'
import { Icon } from './icons.tsx'
import { Markdown } from './markdown.tsx'
import { memo } from './memo.ts'

interface DetailListProps {
  readonly details: readonly AskDetail[]
  /** Whether all of it is shown: people decide about it. */
  readonly isWhole: boolean
}

/** The call behind a permission, piece by piece. The core has escaped what could deceive. */
export function DetailList({ details, isWhole }: DetailListProps): ComponentChildren {
  return details.map(({ label, format, text }, index) => (
    <div key={index} class={`detail format-${format}`}>
      {label !== '' && <div class="label">{label}</div>}
      <LongText text={text} isDiff={format === 'diff'} label={label || texts.input} isWhole={isWhole} />
    </div>
  ))
}

interface AskCardProps {
  readonly ask: Ask
  /** The sub-agent that asks. Undefined if it is the run itself. */
  readonly agent: string | undefined
  /** Whether people should decide now: see `isAskDue` of the core. */
  readonly isDue: boolean
  readonly access: ViewAccess | undefined
  readonly actions: RunActions | undefined
}

/** An ask that waits for a person: all that would run or is asked, and the answers that this reader may give. */
export const AskCard = memo(({ ask, agent, isDue, access, actions }: AskCardProps): ComponentChildren => {
  const [state, setState] = useState<Sending>({ type: 'idle' })
  const mayAnswer = actions !== undefined && access?.mayAnswer === true
  const isNew = useIsNew(ask)
  const send = async (work: Promise<void>): Promise<void> => {
    setState({ type: 'sending' })
    try {
      await work
      setState({ type: 'sent' })
      // The ask is gone by then. If it isn't, another try must be possible.
      setTimeout(() => setState({ type: 'idle' }), 8000)
    } catch (error) {
      setState({ type: 'failed', message: error instanceof Error ? error.message : texts.unknownError })
    }
  }
  const isOff = isNew !== undefined || state.type === 'sending' || state.type === 'sent'
  const controls: Controls = {
    isOff,
    answer: (answer) => void (actions && send(actions.answer(ask, answer))),
    reject: (message) => void (actions && send(actions.reject(ask, message))),
  }
  return (
    <section class={`ask ${ask.type}`} aria-label={`${texts.ask[ask.type]} ${titleOf(ask)}`}>
      <div class="ask-kind">
        <Icon name={ask.type === 'question' ? 'question' : 'tool'} />
        {texts.ask[ask.type]}
        {agent !== undefined && <span class="quiet">{texts.ask.from(escapeDeceptive(agent))}</span>}
      </div>
      {ask.type === 'permission' ? (
        <Permission
          ask={ask}
          isDue={isDue}
          mayAllow={access?.mayAllow !== false}
          controls={mayAnswer ? controls : undefined}
        />
      ) : (
        <Questions ask={ask} controls={mayAnswer ? controls : undefined} />
      )}
      {!mayAnswer && <p class="quiet">{texts.ask.readOnly}</p>}
      <p class="ask-state" role="status">
        {state.type === 'sending' || state.type === 'sent'
          ? texts.ask.sending
          : isNew === 'changed'
            ? texts.ask.changed
            : ''}
      </p>
      {state.type === 'failed' && (
        <p class="problem" role="alert">
          {state.message}
        </p>
      )}
    </section>
  )
})

/** What an ask is about, in one line. */
export function titleOf(ask: Ask): string {
  if (ask.type === 'permission') return askTitle(ask)
  return escapeDeceptive(ask.questions.map(({ header, question }) => header || question).join(', ')).slice(0, 200)
}

type Sending = { readonly type: 'idle' | 'sending' | 'sent' } | { readonly type: 'failed'; readonly message: string }

interface Controls {
  readonly isOff: boolean
  readonly answer: (answer: 'once' | 'always' | readonly (readonly string[])[]) => void
  readonly reject: (message?: string) => void
}

/** How long the answers to an ask that has just come or changed can't be given, in ms: a press may have been meant for something else. */
const newMs = 700

/** Whether the ask has just come or changed under the reader's eyes. */
function useIsNew(ask: Ask): 'new' | 'changed' | undefined {
  const seen = useRef<Ask | undefined>(undefined)
  const [settled, setSettled] = useState<Ask>()
  useEffect(() => {
    const timer = setTimeout(() => {
      seen.current = ask
      setSettled(ask)
    }, newMs)
    return () => clearTimeout(timer)
  }, [ask])
  if (settled === ask) return undefined
  return seen.current === undefined ? 'new' : 'changed'
}

interface PermissionProps {
  readonly ask: PermissionAsk
  readonly isDue: boolean
  readonly mayAllow: boolean
  readonly controls: Controls | undefined
}

function Permission({ ask, isDue, mayAllow, controls }: PermissionProps): ComponentChildren {
  const details = askDetails(ask)
  const isAllowed = details !== undefined && mayAllow
  const isAlways = isAllowed && alwaysOffer(ask).type === 'offered'
  const [isExplaining, setExplaining] = useKept(`${ask.requestID}/explaining`, false, isBoolean)
  const [message, setMessage] = useKept(`${ask.requestID}/message`, '', isText)
  return (
    <Fragment>
      <h2 class="ask-title">{askTitle(ask)}</h2>
      {details ? (
        <DetailList details={details} isWhole />
      ) : (
        <p class="note">{isDue ? texts.ask.neverKnown : texts.ask.unknown}</p>
      )}
      {isAlways && <AlwaysReach ask={ask} />}
      {!mayAllow && controls && <p class="note">{texts.ask.mayNotAllow}</p>}
      {controls && (
        <div class="answers">
          {isAllowed && (
            <button
              type="button"
              class="button primary"
              disabled={controls.isOff}
              onClick={() => controls.answer('once')}
            >
              {texts.ask.once}
            </button>
          )}
          {isAlways && (
            <button type="button" class="button" disabled={controls.isOff} onClick={() => controls.answer('always')}>
              {texts.ask.always}
            </button>
          )}
          <button type="button" class="button danger" disabled={controls.isOff} onClick={() => controls.reject()}>
            {texts.ask.reject}
          </button>
          <button type="button" class="link" aria-expanded={isExplaining} onClick={() => setExplaining(!isExplaining)}>
            {texts.ask.rejectWith}
          </button>
        </div>
      )}
      {controls && isExplaining && (
        <form
          class="explain"
          onSubmit={(event) => {
            event.preventDefault()
            if (message.trim() !== '') controls.reject(message.trim())
          }}
        >
          <label>
            {texts.ask.message}
            <textarea rows={2} value={message} onInput={(event) => setMessage(event.currentTarget.value)} />
          </label>
          <button type="submit" class="button danger" disabled={controls.isOff || message.trim() === ''}>
            {texts.ask.reject}
          </button>
        </form>
      )}
    </Fragment>
  )
}

/** What "always" would allow from now on. */
function AlwaysReach({ ask }: { readonly ask: PermissionAsk }): ComponentChildren {
  const reach = alwaysReach(ask)
  if (reach.type === 'same') return <p class="reach">{texts.ask.alwaysSame}</p>
  return (
    <div class="reach">
      {reach.type === 'patterns' ? texts.ask.alwaysPatterns : texts.ask.alwaysOption}
      <ul>
        {reach.names.map((name) => (
          <li key={name}>
            <code>{name}</code>
          </li>
        ))}
      </ul>
    </div>
  )
}

interface QuestionsProps {
  readonly ask: QuestionAsk
  readonly controls: Controls | undefined
}

type Choice = { readonly labels: readonly string[]; readonly own: string }

const isChoices = (value: unknown): value is readonly Choice[] => Array.isArray(value)

function Questions({ ask, controls }: QuestionsProps): ComponentChildren {
  const { questions, requestID } = ask
  const none = questions.map((): Choice => ({ labels: [], own: '' }))
  const [choices, setChoices] = useKept<readonly Choice[]>(`${requestID}/choices`, none, isChoices)
  const answers = questions.map((question, at) => answersOf(question, choices[at]))
  const isWhole = answers.every((answer) => answer.length > 0)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isWhole) controls?.answer(answers)
      }}
    >
      {questions.map((question, at) => (
        <QuestionFields
          key={at}
          name={`${requestID}/${at}`}
          question={question}
          choice={choices[at] ?? { labels: [], own: '' }}
          choose={(choice) =>
            setChoices(
              questions.map((_, other) => (other === at ? choice : (choices[other] ?? { labels: [], own: '' }))),
            )
          }
          isOff={!controls}
        />
      ))}
      {controls && (
        <div class="answers">
          <button type="submit" class="button primary" disabled={controls.isOff || !isWhole}>
            {texts.ask.send}
          </button>
          <button type="button" class="button danger" disabled={controls.isOff} onClick={() => controls.reject()}>
            {texts.ask.reject}
          </button>
        </div>
      )}
    </form>
  )
}

/** Returns the answer to a question. The core reads a number as that of an option, unless it is in quotes. */
function answersOf(question: Question, choice: Choice | undefined): readonly string[] {
  const labels = choice?.labels ?? []
  const own = choice?.own.trim() ?? ''
  const isNumber = /^\d+$/.test(own) && !question.options.some(({ label }) => label === own)
  const words = own === '' ? [] : [isNumber ? `"${own}"` : own]
  return question.multiple ? [...labels, ...words] : words.length > 0 ? words : labels
}

interface QuestionFieldsProps {
  readonly name: string
  readonly question: Question
  readonly choice: Choice
  readonly choose: (choice: Choice) => void
  readonly isOff: boolean
}

function QuestionFields({ name, question, choice, choose, isOff }: QuestionFieldsProps): ComponentChildren {
  const { header, options, multiple, custom } = question
  const hasText = custom || options.length === 0
  const pick = (label: string, isPicked: boolean): void => {
    if (!multiple) choose({ labels: [label], own: '' })
    else
      choose({ ...choice, labels: isPicked ? [...choice.labels, label] : choice.labels.filter((one) => one !== label) })
  }
  return (
    <fieldset class="fields" disabled={isOff}>
      <legend>
        {header !== '' && <span class="question-header">{escapeDeceptive(header)}</span>}
        <Markdown text={question.question} />
      </legend>
      {options.map(({ label, description }) => (
        <label key={label} class="option">
          <input
            type={multiple ? 'checkbox' : 'radio'}
            name={name}
            checked={choice.labels.includes(label)}
            onChange={(event) => pick(label, event.currentTarget.checked)}
          />
          <span>
            <span class="option-label">{escapeDeceptive(label)}</span>
            {description !== '' && <span class="quiet">{escapeDeceptive(description)}</span>}
          </span>
        </label>
      ))}
      {hasText && (
        <label class="own">
          {texts.ask.own}
          <input
            type="text"
            value={choice.own}
            onInput={(event) => choose({ labels: multiple ? choice.labels : [], own: event.currentTarget.value })}
          />
        </label>
      )}
    </fieldset>
  )
}

interface AskedOfProps {
  readonly ask: Ask
  readonly by: string | undefined
}

/** An ask that is closed: what was asked, how it was answered, and by which person. */
export const AskedOf = memo(
  ({ ask, by }: AskedOfProps): ComponentChildren => (
    <div class={`closed-ask ${ask.status}`}>
      <span class="closed-state">
        {texts.ask.by(closedText(ask), by === undefined ? undefined : escapeDeceptive(by))}
      </span>
      {ask.type === 'permission' && ask.permission !== '' && <span class="closed-title">{askTitle(ask)}</span>}
      {ask.type === 'question' && ask.questions.length > 0 && (
        <dl>
          {ask.questions.map(({ header, question }, at) => (
            <Fragment key={at}>
              <dt>{escapeDeceptive(header || question)}</dt>
              <dd>{ask.answers?.[at]?.map((answer) => escapeDeceptive(answer)).join(', ') ?? '—'}</dd>
            </Fragment>
          ))}
        </dl>
      )}
    </div>
  ),
)

function closedText(ask: Ask): string {
  if (ask.status === 'answered' && ask.type === 'permission')
    return ask.reply === 'always' ? texts.ask.closed.always : texts.ask.closed.once
  return texts.ask.closed[ask.status]
}
