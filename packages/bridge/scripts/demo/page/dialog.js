import { make } from './element.js'

/**
 * Creates a dialog that the bot opened for a person. `submit` gets the answers in the order of the fields. It is not shown yet.
 * @param {import('../view.ts').DialogView} view
 * @param {(answers: readonly (string | readonly string[])[]) => void} submit
 */
export function openDialog({ title, fields }, submit) {
  const inputs = fields.map((field) => ({ field, input: inputFor(field) }))
  const form = make('form', { method: 'dialog' }, [
    make('h3', {}, [title]),
    ...inputs.map(({ field, input }) => make('label', {}, [make('span', {}, [field.label]), input])),
    make('button', { type: 'submit', class: 'send' }, ['Send']),
  ])
  form.addEventListener('submit', () =>
    submit(
      inputs.map(({ field, input }) => {
        if (!(input instanceof HTMLSelectElement) || field.type !== 'several') return input.value
        return [...input.selectedOptions].map((option) => option.value)
      }),
    ),
  )
  return make('dialog', { 'aria-label': title }, [form])
}

/**
 * Returns the input of a field: a text area, or a select with one or several choices. An optional single choice has `None`.
 * @param {import('../view.ts').FieldView} field
 */
function inputFor({ type, options, isOptional }) {
  if (type === 'text') return make('textarea', { rows: '3', required: !isOptional })
  const none = type === 'one' && isOptional ? [make('option', { value: '' }, ['None'])] : []
  const all = options.map((option) => make('option', { value: option }, [option]))
  return make('select', { multiple: type === 'several', required: !isOptional }, [...none, ...all])
}
