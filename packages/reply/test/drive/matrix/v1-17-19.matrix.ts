import { testPlaces } from './place.ts'
import { testVersion } from './version.ts'

testVersion('1.17.19')
testPlaces('1.17.19')
