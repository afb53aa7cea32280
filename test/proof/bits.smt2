; The axioms of bits.acsl, each by its name, on bit vectors of 66 bits in two's
; complement, which hold all numbers that the code has. wp.py asserts the
; negation of each, to which z3 must answer unsat. A hexadecimal constant would
; need whole digits.
; SPDX-License-Identifier: 0BSD
(define-sort Z () (_ BitVec 66))
(declare-const a Z)
(declare-const b Z)
(define-fun within ((x Z) (low Z) (high Z)) Bool
    (and (bvsle low x) (bvsle x high)))
(define-fun top () Z (_ bv18446744073709551615 66))
(define-fun or_20 () Bool
    (=> (within a (_ bv0 66) (_ bv255 66))
        (= (bvor a (_ bv32 66))
            (ite (= (bvurem (bvudiv a (_ bv32 66)) (_ bv2 66)) (_ bv0 66))
                (bvadd a (_ bv32 66)) a))))
(define-fun or_20_below () Bool
    (=> (within a (_ bv73786976294838206336 66) (_ bv73786976294838206463 66))
        (bvslt (bvor a (_ bv32 66)) (_ bv0 66))))
(define-fun and_not_20 () Bool
    (=> (within a (_ bv0 66) (_ bv255 66))
        (= (bvand a (bvnot (_ bv32 66)))
            (ite (= (bvurem (bvudiv a (_ bv32 66)) (_ bv2 66)) (_ bv0 66)) a
                (bvsub a (_ bv32 66))))))
(define-fun and_not_20_below () Bool
    (=> (within a (_ bv73786976294838206336 66) (_ bv73786976294838206463 66))
        (bvslt (bvand a (bvnot (_ bv32 66))) (_ bv0 66))))
(define-fun and_1 () Bool
    (=> (within a (_ bv0 66) top)
        (= (bvand a (_ bv1 66)) (bvurem a (_ bv2 66)))))
(define-fun and_3 () Bool
    (=> (within a (_ bv0 66) top)
        (= (bvand a (_ bv3 66)) (bvurem a (_ bv4 66)))))
(define-fun and_7 () Bool
    (=> (within a (_ bv0 66) top)
        (= (bvand a (_ bv7 66)) (bvurem a (_ bv8 66)))))
(define-fun and_0F () Bool
    (=> (within a (_ bv0 66) top)
        (= (bvand a (_ bv15 66)) (bvurem a (_ bv16 66)))))
(define-fun and_7F () Bool
    (=> (within a (_ bv0 66) top)
        (= (bvand a (_ bv127 66)) (bvurem a (_ bv128 66)))))
(define-fun and_FF () Bool
    (=> (within a (_ bv0 66) top)
        (= (bvand a (_ bv255 66)) (bvurem a (_ bv256 66)))))
(define-fun and_70 () Bool
    (=> (within a (_ bv0 66) (_ bv255 66))
        (= (bvand a (_ bv112 66))
            (bvmul (bvurem (bvudiv a (_ bv16 66)) (_ bv8 66)) (_ bv16 66)))))
(define-fun bit_0 () Bool
    (=> (within a (_ bv0 66) top)
        (= (not (= (bvand a (_ bv1 66)) (_ bv0 66)))
            (= (bvurem (bvudiv a (_ bv1 66)) (_ bv2 66)) (_ bv1 66)))))
(define-fun bit_3 () Bool
    (=> (within a (_ bv0 66) top)
        (= (not (= (bvand a (_ bv8 66)) (_ bv0 66)))
            (= (bvurem (bvudiv a (_ bv8 66)) (_ bv2 66)) (_ bv1 66)))))
(define-fun bit_7 () Bool
    (=> (within a (_ bv0 66) top)
        (= (not (= (bvand a (_ bv128 66)) (_ bv0 66)))
            (= (bvurem (bvudiv a (_ bv128 66)) (_ bv2 66)) (_ bv1 66)))))
(define-fun bit_63 () Bool
    (=> (within a (_ bv0 66) top)
        (= (not (= (bvlshr a (_ bv63 66)) (_ bv0 66)))
            (bvsge a (_ bv9223372036854775808 66)))))
(define-fun left_4 () Bool
    (=> (within a (_ bv0 66) (_ bv1152921504606846975 66))
        (= (bvshl a (_ bv4 66)) (bvmul a (_ bv16 66)))))
(define-fun left_8 () Bool
    (=> (within a (_ bv0 66) (_ bv72057594037927935 66))
        (= (bvshl a (_ bv8 66)) (bvmul a (_ bv256 66)))))
(define-fun or_digit () Bool
    (=> (and (within a (_ bv0 66) top) (within b (_ bv0 66) top) (or
        (and (= (bvurem a (_ bv16 66)) (_ bv0 66)) (bvult b (_ bv16 66)))
        (and (= (bvurem b (_ bv16 66)) (_ bv0 66)) (bvult a (_ bv16 66)))))
        (= (bvor a b) (bvadd a b))))
(define-fun or_byte () Bool
    (=> (and (within a (_ bv0 66) top) (within b (_ bv0 66) top) (or
        (and (= (bvurem a (_ bv256 66)) (_ bv0 66)) (bvult b (_ bv256 66)))
        (and (= (bvurem b (_ bv256 66)) (_ bv0 66)) (bvult a (_ bv256 66)))))
        (= (bvor a b) (bvadd a b))))
(define-fun high_bits () Bool
    (= (= (bvand (bvor a b) (_ bv9259542123273814144 66)) (_ bv0 66))
        (and (= (bvand a (_ bv9259542123273814144 66)) (_ bv0 66))
            (= (bvand b (_ bv9259542123273814144 66)) (_ bv0 66)))))
(define-fun wrap_8 () Bool
    (=> (within a (_ bv73786976294838206208 66) (_ bv73786976294838206463 66))
        (= ((_ zero_extend 58) ((_ extract 7 0) a)) (bvadd a (_ bv256 66)))))
(define-fun cut_8 () Bool
    (=> (within a (_ bv0 66) top)
        (= ((_ zero_extend 58) ((_ extract 7 0) a)) (bvurem a (_ bv256 66)))))
(define-fun wrap_64 () Bool
    (=> (within a (bvneg (bvadd top (_ bv1 66))) (_ bv73786976294838206463 66))
        (= ((_ zero_extend 2) ((_ extract 63 0) a)) (bvadd a top (_ bv1 66)))))
