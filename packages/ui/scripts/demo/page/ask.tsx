import { type ReactNode, useId, useState } from 'react'
import { Code, Markdown } from './markdown.tsx'

/** How a person answers a permission. */
export type Choice = 'once' | 'always' | 'reject'

/** A piece of the call that a permission is about. */
export interface Detail {
  readonly label: string
  readonly format: 'code' | 'diff' | 'text'
  readonly language?: string | undefined
  readonly text: string
}

/** A permission as it is shown. */
export interface PermissionProps {
  readonly title: string
  /** All that would run. Undefined if that is not known, and then it can't be allowed. */
  readonly details: readonly Detail[] | undefined
  /** What "always" would allow. Empty if it is not offered. */
  readonly always: readonly string[]
  /** Whether an answer was sent and is on its way. */
  readonly isSent: boolean
  readonly onAnswer: (choice: Choice) => void
}

/** Shows all that a permission would allow, and the ways to answer it below that. */
export function Permission({ title, details, always, isSent, onAnswer }: PermissionProps): ReactNode {
  const id = useId()
  return (
    <section className="ask" aria-labelledby={id}>
      <h3 id={id}>Allow this?</h3>
      <p className="ask-title">{title}</p>
      {details?.map(({ label, format, language, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a call don't move.
        <div key={index} className="field">
          {label !== '' && <span className="field-name">{label}</span>}
          {format === 'text' ? (
            <p className="plain">{text}</p>
          ) : (
            <Code text={text} language={format === 'diff' ? 'diff' : language} />
          )}
        </div>
      ))}
      {always.length > 0 && (
        <p className="ask-note">
          “Always” also allows, from now on: <code>{always.join(', ')}</code>
        </p>
      )}
      {details === undefined && <p className="ask-note">What would run is not known yet, so it can’t be allowed.</p>}
      <div className="answers">
        <button
          type="button"
          className="button primary"
          disabled={isSent || details === undefined}
          onClick={() => onAnswer('once')}
        >
          Allow once
        </button>
        {always.length > 0 && (
          <button
            type="button"
            className="button"
            disabled={isSent || details === undefined}
            onClick={() => onAnswer('always')}
          >
            Always
          </button>
        )}
        <button type="button" className="button danger" disabled={isSent} onClick={() => onAnswer('reject')}>
          Reject
        </button>
      </div>
    </section>
  )
}

/** One question of an ask. */
export interface QuestionView {
  readonly header: string
  readonly question: string
  readonly options: readonly { readonly label: string; readonly description: string }[]
  readonly multiple: boolean
  readonly custom: boolean
}

/** Questions as they are shown. */
export interface QuestionsProps {
  readonly questions: readonly QuestionView[]
  /** Whether an answer was sent and is on its way. */
  readonly isSent: boolean
  /** A list for each question, in order: labels, or a person's own words. */
  readonly onAnswer: (answers: readonly (readonly string[])[]) => void
  readonly onReject: () => void
}

/** Shows questions with their options. A single question with options to choose one of is answered by one click. */
export function Questions({ questions, isSent, onAnswer, onReject }: QuestionsProps): ReactNode {
  const [picked, setPicked] = useState<readonly (readonly string[])[]>(() => questions.map(() => []))
  const [typed, setTyped] = useState<readonly string[]>(() => questions.map(() => ''))
  const answers = questions.map((_, index) => {
    const own = typed[index]?.trim() ?? ''
    return [...(picked[index] ?? []), ...(own === '' ? [] : [own])]
  })
  const [first] = questions
  const isSimple = questions.length === 1 && first !== undefined && !first.multiple && first.options.length > 0
  const isComplete = answers.every((answer) => answer.length > 0)
  const pick = (index: number, label: string, multiple: boolean): void => {
    if (isSimple) return onAnswer([[label]])
    setPicked(
      picked.map((labels, at) => {
        if (at !== index) return labels
        if (labels.includes(label)) return labels.filter((one) => one !== label)
        return multiple ? [...labels, label] : [label]
      }),
    )
    if (!multiple) setTyped(typed.map((words, at) => (at === index ? '' : words)))
  }
  const type = (index: number, words: string, multiple: boolean): void => {
    setTyped(typed.map((one, at) => (at === index ? words : one)))
    if (!multiple) setPicked(picked.map((labels, at) => (at === index ? [] : labels)))
  }
  return (
    <form
      className="ask"
      onSubmit={(event) => {
        event.preventDefault()
        if (isComplete && !isSent) onAnswer(answers)
      }}
    >
      {questions.map(({ header, question, options, multiple, custom }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the questions of an ask don't move.
        <fieldset key={index} disabled={isSent}>
          <legend>{header === '' ? 'A question' : header}</legend>
          <Markdown text={question} />
          <div className="options">
            {options.map(({ label, description }) => (
              <button
                key={label}
                type="button"
                className="option"
                aria-pressed={picked[index]?.includes(label)}
                onClick={() => pick(index, label, multiple)}
              >
                <span>{label}</span>
                {description !== '' && <small>{description}</small>}
              </button>
            ))}
          </div>
          {custom && (
            <input
              type="text"
              aria-label={`Your own answer${header === '' ? '' : `: ${header}`}`}
              placeholder={options.length > 0 ? 'Or in your own words' : 'In your own words'}
              value={typed[index]}
              onChange={({ target }) => type(index, target.value, multiple)}
            />
          )}
        </fieldset>
      ))}
      <div className="answers">
        <button type="submit" className="button primary" disabled={isSent || !isComplete}>
          Answer
        </button>
        <button type="button" className="button danger" disabled={isSent} onClick={onReject}>
          Don’t answer
        </button>
      </div>
    </form>
  )
}
